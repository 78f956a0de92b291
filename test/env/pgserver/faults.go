package pgserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/jackc/pgx/v5"

	"voucherd/test/env/process"
)

var errFrozen = errors.New("the server is frozen already")

// Freeze stops every process of the server: connections stay open, nothing
// answers.
func (s *Server) Freeze() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guard != nil {
		return errFrozen
	}
	var err error
	s.guard, err = process.FreezeTree(s.child)
	return err
}

// Thaw lets a frozen server go on; on one that isn't frozen it does nothing.
func (s *Server) Thaw() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.thaw()
}

func (s *Server) thaw() error {
	if s.guard == nil {
		return nil
	}
	err := process.ThawTree(s.child)
	return errors.Join(err, s.dismiss())
}

func (s *Server) dismiss() error {
	err := s.guard.Dismiss()
	s.guard = nil
	return err
}

// Kill ends all processes of the server at once, frozen or not, as a crash
// does, and returns when they are gone. Its data and port stay.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Exited() {
		return nil
	}
	return errors.Join(process.KillTree(s.child), s.dismiss())
}

// Stop shuts the server down in good order, ending what clients do.
func (s *Server) Stop() error {
	const fastShutdown = syscall.SIGINT
	return s.shutdown(fastShutdown)
}

// Close ends the server for good and removes its data.
func (s *Server) Close() error {
	// Its data go anyway: no reason to wait for a last checkpoint, while a kill
	// would leave its shared memory behind.
	const immediateShutdown = syscall.SIGQUIT
	err := s.shutdown(immediateShutdown)
	if s.port != nil {
		s.port.Release()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

// shutdown asks by signal, and kills a server that takes too long.
func (s *Server) shutdown(how syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Exited() {
		return nil
	}
	if err := s.thaw(); err != nil {
		return err
	}
	below, err := process.Descendants(s.child.Pid())
	if err != nil {
		return err
	}
	if err := s.child.Signal(how); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	if _, ok := s.child.Wait(stopLimit); !ok {
		return process.KillTree(s.child)
	}
	return process.AwaitEnd(below)
}

// TerminateBackends ends every connection to the database and says how many
// there were.
func (s *Server) TerminateBackends(ctx context.Context, database string) (int, error) {
	count := 0
	err := s.admin(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
			FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()`, database).Scan(&count)
	})
	return count, err
}

// Pid is the main process of the server.
func (s *Server) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.child.Pid()
}
