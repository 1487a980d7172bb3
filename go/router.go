package sluicegate

import (
	"fmt"
	"strconv"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A StreamName names a stream within its request. A name is absent, the zero value [Unnamed], or a
// text; the empty text is a name like any other.
type StreamName struct {
	text    string
	present bool
}

// Unnamed is the absent name.
var Unnamed StreamName

// Named is the name with that text.
func Named(text string) StreamName { return StreamName{text: text, present: true} }

// Text answers the text of the name; false if the name is absent.
func (n StreamName) Text() (string, bool) { return n.text, n.present }

// String answers the quoted text, or "unnamed".
func (n StreamName) String() string {
	if !n.present {
		return "unnamed"
	}
	return strconv.Quote(n.text)
}

func (n StreamName) core() capi.StreamName {
	return capi.StreamName{Text: n.text, Present: n.present}
}

// A Delivery says what became of a grant.
type Delivery uint8

// What can become of a grant.
const (
	// Granted: it credited a gate.
	Granted = Delivery(capi.Granted)
	// NoStream: the request is known, and the grant names none of its streams. Ignored.
	NoStream = Delivery(capi.NoStream)
	// NoRequest: the request is not known: a straggler or a stray, yours to classify.
	NoRequest = Delivery(capi.NoRequest)
)

// String answers the name of the delivery.
func (d Delivery) String() string {
	switch d {
	case Granted:
		return "Granted"
	case NoStream:
		return "NoStream"
	case NoRequest:
		return "NoRequest"
	}
	return fmt.Sprintf("Delivery(%d)", uint8(d))
}

// A Router brings grants to gates: it knows the streams that are open for sending, by request and
// stream name. A request is whatever text identifies it in your transport, raw bytes included.
//
// Any number of goroutines may use a Router at once. Nothing waits. Grant from whoever reads the
// connection, whether or not anybody reads the stream. Should the library itself panic in a router,
// that router is broken: from then on Register answers [ErrBroken] and the other methods panic.
type Router struct{ core *capi.Router }

// NewRouter makes a router that knows no request.
func NewRouter() *Router { return &Router{capi.NewRouter()} }

// Register enters a stream that is open for sending. Registering a name again replaces the gate;
// the one before is closed with the reason REPLACED, so that nobody waits on it for ever. A name
// that is not UTF-8 is an [ErrInvalidArgument].
func (r *Router) Register(request string, stream StreamName, gate *Gate) error {
	return fromCore(r.core.Register(request, stream.core(), gate.core))
}

// Unregister takes a stream out once it is no longer open for sending. Its gate stays as it is.
func (r *Router) Unregister(request string, stream StreamName) {
	r.core.Unregister(request, stream.core())
}

// Grant credits the stream that is named, or the request's only one if none is.
func (r *Router) Grant(request string, stream StreamName, n uint64) Delivery {
	return Delivery(r.core.Grant(request, stream.core(), n))
}

// CloseRequest ends a request: it closes all its gates with reason, which releases everyone who
// waits on them (L13).
func (r *Router) CloseRequest(request, reason string) {
	r.core.CloseRequest(request, valid(reason))
}

// CloseAll ends every request, for a connection that is gone.
func (r *Router) CloseAll(reason string) {
	r.core.CloseAll(valid(reason))
}

// Len answers how many requests have streams open for sending.
func (r *Router) Len() int { return r.core.Len() }
