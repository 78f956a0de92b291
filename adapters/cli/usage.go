package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// usageError says that the command was called wrongly and that nothing was done.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// misuse returns a usageError in one line, which ends with where to read more.
func misuse(c *cobra.Command, text string) error {
	return &usageError{text: fmt.Sprintf("%s (see %s --help)", text, c.CommandPath())}
}

// exactly refuses any other number of arguments than the names given.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return misuse(c, "missing "+strings.Join(names[len(args):], " "))
		case len(args) > len(names):
			return misuse(c, fmt.Sprintf("unexpected argument %q", args[len(names)]))
		}
		return nil
	}
}

// group makes c a command that only holds others. Without one of them it is called wrongly: a unit file or a container
// that forgot `serve`, or a script that forgot `up`, must not look as if it had done something.
func group(c *cobra.Command) *cobra.Command {
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		text := fmt.Sprintf("unknown command %q", args[0])
		if c.SuggestionsMinimumDistance <= 0 {
			c.SuggestionsMinimumDistance = 2
		}
		if like := c.SuggestionsFor(args[0]); len(like) > 0 {
			text += fmt.Sprintf(", did you mean %q?", like[0])
		}
		return misuse(c, text)
	}
	c.RunE = func(c *cobra.Command, _ []string) error {
		c.SetOut(c.ErrOrStderr())
		if err := c.Help(); err != nil {
			return err
		}
		return misuse(c, "missing command")
	}
	return c
}

// newHelp replaces cobra's own, which exits 0 on a topic that it doesn't know.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Print the help of a command",
		Example: "  voucherd help migrate down",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return misuse(root, fmt.Sprintf("unknown command %q", strings.Join(args, " ")))
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}
