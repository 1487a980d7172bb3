package sluicegate

import "github.com/sluicegate/sluicegate/go/internal/capi"

// A Manifest says what a cartridge is, apart from its caps.
type Manifest struct {
	Name        string
	Version     string
	Description string
	// Limits are what the cartridge proposes; zero values are the defaults.
	Limits Limits
}

// A Cap is one thing that a cartridge can do.
type Cap struct {
	// URN names the cap, its main input and its main output:
	// "cap:upper;in=media:blob;out=media:blob".
	URN string
	// Title is for people.
	Title string
	// InputSequence and OutputSequence say that the main input or output is a sequence of items
	// rather than scalar.
	InputSequence, OutputSequence bool
	// Outputs are declared beside the main one.
	Outputs []CapOutput
	// Streaming says that output comes while input is still being read.
	Streaming bool
}

// A CapOutput is an output of a cap beside its main one.
type CapOutput struct {
	// Media names it: the argument of [Request.OutputFor].
	Media string
	// Sequence says that it is a sequence of items rather than scalar.
	Sequence bool
}

func (m Manifest) core(caps []Cap) capi.Manifest {
	manifest := capi.Manifest{Name: m.Name, Version: m.Version, Description: m.Description}
	for _, c := range caps {
		out := capi.Cap{
			URN: c.URN, Title: c.Title,
			InputSequence: c.InputSequence, OutputSequence: c.OutputSequence, Streaming: c.Streaming,
		}
		for _, o := range c.Outputs {
			out.Outputs = append(out.Outputs, capi.CapOutput(o))
		}
		manifest.Caps = append(manifest.Caps, out)
	}
	return manifest
}
