//! Which stream of a request a grant is for.

/// A stream's name within its request: absent, or a text. The empty text is a name.
pub type Target<'a> = Option<&'a str>;

/// The stream that a grant credits, out of the streams of its request that are open for sending;
/// outer `None` if it credits none. A grant that names no stream goes to the stream without a name
/// if there is one, else to the request's only stream.
#[must_use]
pub fn grant_target<'a>(
    open: impl IntoIterator<Item = Target<'a>>,
    named: Target<'_>,
) -> Option<Target<'a>> {
    let mut count = 0_usize;
    let mut last = None;
    for name in open {
        if name == named {
            return Some(name);
        }
        count = count.saturating_add(1);
        last = Some(name);
    }
    if named.is_none() && count == 1 { last } else { None }
}

#[cfg(test)]
mod tests {
    use super::grant_target;

    #[test]
    fn answers_what_the_specification_measured() {
        let to = |open: &[Option<&'static str>], named| grant_target(open.iter().copied(), named);
        assert_eq!(to(&[Some("a")], None), Some(Some("a")));
        assert_eq!(to(&[Some("a")], Some("")), None);
        assert_eq!(to(&[Some("")], None), Some(Some("")));
        assert_eq!(to(&[Some("")], Some("")), Some(Some("")));
        assert_eq!(to(&[Some(""), Some("a")], None), None);
        assert_eq!(to(&[None, Some("a")], None), Some(None));
        assert_eq!(to(&[None], Some("a")), None);
        assert_eq!(to(&[Some("a"), Some("a")], None), None);
        assert_eq!(to(&[], None), None);
    }
}
