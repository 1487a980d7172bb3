// Package flow has streams between goroutines of one process, as blueprints whose demand is credit.
//
// A [Source] has one typed output, a [Flow] an input and an output, a [Sink] an input. All three are
// immutable and can be used as often as one likes. Closed with [To], they are a [Graph], and each
// [Graph.Run] on a [Scope] makes fresh stages, fresh queues and fresh controls:
//
//	scope, _ := flow.NewScope("example")
//	lengths := flow.Via(flow.Of(7, 1234), flow.Map(func(n int) int { return len(strconv.Itoa(n)) }))
//	all, err := lengths.Collect(ctx, scope) // [1 4]
//
// The methods of a source are the stages that keep the type of its elements; a stage that changes it is
// put behind with [Via].
//
// # Functions of stages
//
// They run on a thread of the scope, one call at a time in one run. A function that answers an error
// fails the stream, and the completion answers that very error; one that panics fails it with
// [sluicegate.ErrStageFailed] and the panic's text. Neither harms anything but the run.
// None may call [runtime.Goexit], nor what calls it, such as testing.T's FailNow and Fatal: the thread is
// the library's, and Go ends the process.
//
// # Contexts
//
// The context of a run cancels it, the context of a wait gives the wait up. Elements are Go values: the
// library keeps a handle for each while it is on its way, and lets go of it exactly once.
//
// # Mistakes in blueprints
//
// A blueprint of impossible sizes, or one made of such a blueprint, answers why by its Err method at
// once, and each run of it answers the same.
package flow
