//! Two waits at once.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// What [`first`] answers.
pub(crate) enum Either<A, B> {
    Left(A),
    Right(B),
}

/// Whichever is ready first, and `right` if both are. The other one is given up.
pub(crate) async fn first<A: Future, B: Future>(left: A, right: B) -> Either<A::Output, B::Output> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(move |context| {
        if let Poll::Ready(answer) = right.as_mut().poll(context) {
            return Poll::Ready(Either::Right(answer));
        }
        left.as_mut().poll(context).map(Either::Left)
    })
    .await
}
