package parse

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
)

// mappers returns the parser options for the notation of values.
func mappers() (list []kong.Option) {
	for kind, s := range cli.Spellings {
		mapper := kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
			if s.Optional && ctx.Scan.Peek().Type != kong.FlagValueToken {
				return s.Put(target, "")
			}
			if s.Dashed {
				token := ctx.Scan.Pop()
				if token.IsEOL() {
					return errors.New("missing value")
				}
				return s.Put(target, fmt.Sprint(token.Value))
			}
			var word string
			if err := ctx.Scan.PopValueInto("value", &word); err != nil {
				return err
			}
			return s.Put(target, word)
		})
		if s.Optional {
			list = append(list, kong.NamedMapper(kind, optionalMapper{mapper}))
			continue
		}
		list = append(list, kong.NamedMapper(kind, mapper))
	}
	return list
}

// optionalMapper makes the parser accept an option without its value, as it does for a flag.
type optionalMapper struct{ kong.MapperFunc }

func (optionalMapper) IsBool() bool { return true }
