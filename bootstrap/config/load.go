package config

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"

	"voucherd/domain/voucher"
)

// maxFile is the most bytes that a settings file or a file named by a _FILE variable may have: nothing sane comes near,
// and a wrong path (a device, a dump) must not fill the memory.
const maxFile = 1 << 20

var errTooLarge = errors.New("it is larger than 1 MiB")

// Source is where the settings come from, and what this build and this process can do with them.
type Source struct {
	// Path of the YAML file; when empty, the one that VOUCHERD_CONFIG names in Environ; without both there is no file.
	Path string
	// Environ holds name=value entries, as os.Environ returns them. Only VOUCHERD_ ones are looked at.
	Environ []string
	// ServedModes are the modes that the caller can serve; settings that name another are refused.
	ServedModes []voucher.Mode
	// Terminal says that logs go to a terminal: log.format is console then unless it is set.
	Terminal bool
	// ReadFile reads the settings file and those that _FILE variables name; nil reads from the disk, up to 1 MiB.
	ReadFile func(path string) ([]byte, error)
}

// Load reads the file that src names, if it names one, and returns the settings. The error is of type Faults and
// holds everything that is wrong.
func Load(src Source) (Settings, error) {
	content, fault := src.content()
	s, err := Parse(content, src)
	if fault == nil {
		return s, err
	}
	// The environment's own faults are told with it, so that nobody repairs one after the other.
	var rest Faults
	errors.As(err, &rest)
	return Settings{}, append(Faults{*fault}, rest...)
}

// Parse returns the settings that content, the YAML file's text, and the environment of src give together; the
// environment wins. It reads no file but those that _FILE variables name. The error is of type Faults.
func Parse(content []byte, src Source) (Settings, error) {
	faults := &collector{}
	given := gather(content, src, faults)
	s := Settings{
		Kafka:    Kafka{Properties: map[string]Secret{}},
		Vouchers: Vouchers{Modes: map[voucher.Code]voucher.Mode{}},
	}
	for i := range table {
		k := &table[i]
		r, ok := given[k.name].(*raw)
		if !ok {
			r = &raw{Source: "default", Text: k.preset}
			given[k.name] = r
			if k.preset == "" {
				continue
			}
		}
		faults.report(k, r, &s)
	}
	if s.Log.Format == "" {
		s.Log.Format = "json"
		if src.Terminal {
			s.Log.Format = "console"
		}
	}
	c := combination{s: s, served: src.ServedModes, faults: faults, given: given}
	c.check()
	if err := faults.err(); err != nil {
		return Settings{}, err
	}
	return s, nil
}

// gather lays the environment over the file.
func gather(content []byte, src Source, faults *collector) map[string]any {
	// Keys are flat here, so that the dots in them (and in the names of kafka.properties) separate nothing; the
	// delimiter is a character that no key has.
	k := koanf.New("\x00")
	parser := &fileParser{path: src.fileName(), faults: faults}
	vars := &environ{faults: faults, read: src.read, taken: map[string]string{}}
	environment := env.Provider("", env.Opt{
		Prefix:        envPrefix,
		TransformFunc: vars.take,
		EnvironFunc:   func() []string { return src.Environ },
	})
	err := errors.Join(k.Load(rawbytes.Provider(content), parser), k.Load(environment, nil))
	if err != nil {
		// Neither parser nor provider fails by itself; koanf's own text may quote values.
		faults.add(Fault{Source: parser.path, Wrong: "the settings can't be put together", rank: rankFile})
	}
	return k.All()
}

// content reads the settings file; none is an empty one.
func (src *Source) content() ([]byte, *Fault) {
	const right = "name a readable YAML file by --config or VOUCHERD_CONFIG, or leave it out"
	for _, entry := range src.Environ {
		if path, ok := strings.CutPrefix(entry, envConfig+"="); ok && src.Path == "" {
			if strings.TrimSpace(path) == "" {
				return nil, &Fault{Source: envConfig, Wrong: "blank", Right: right}
			}
			src.Path = path
		}
	}
	if src.Path == "" {
		return nil, nil
	}
	content, err := src.read(src.Path)
	if err != nil {
		return nil, &Fault{Source: src.Path, Wrong: "the settings file can't be read: " + why(err), Right: right}
	}
	return content, nil
}

func (src *Source) fileName() string {
	if src.Path == "" {
		return "the settings file"
	}
	return src.Path
}

func (src *Source) read(path string) ([]byte, error) {
	if src.ReadFile != nil {
		return src.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written, so nothing can be lost
	content, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = errTooLarge
	}
	return content, err
}
