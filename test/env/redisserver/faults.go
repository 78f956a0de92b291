package redisserver

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"voucherd/test/env/process"
)

// Freeze stops the server: connections stay open, nothing answers.
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
	return errors.Join(process.ThawTree(s.child), s.dismiss())
}

func (s *Server) dismiss() error {
	err := s.guard.Dismiss()
	s.guard = nil
	return err
}

// Kill ends the server at once, frozen or not, as a crash does. Its directory
// and port stay.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Exited() {
		return nil
	}
	return errors.Join(process.KillTree(s.child), s.dismiss())
}

// Stop shuts the server down in good order.
func (s *Server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.child == nil || s.child.Exited() {
		return nil
	}
	if err := s.thaw(); err != nil {
		return err
	}
	if err := s.child.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop Redis: %w", err)
	}
	if _, ok := s.child.Wait(stopLimit); !ok {
		return process.KillTree(s.child)
	}
	return nil
}

// Close ends the server for good and removes its directory.
func (s *Server) Close() error {
	err := s.Kill() // nothing of it is needed any more
	if s.port != nil {
		s.port.Release()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
