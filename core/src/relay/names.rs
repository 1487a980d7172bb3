//! Names of connections, each given to one at a time.

use std::collections::BTreeSet;

use crate::sync::{Arc, Mutex};

/// The names that are taken.
#[derive(Default)]
pub(super) struct Names(Mutex<BTreeSet<String>>);

/// A name of its own, free again once this is dropped.
pub(super) struct Name {
    text: String,
    among: Arc<Names>,
}

impl Names {
    /// `wanted`, or if somebody has it, `wanted~2`, `wanted~3`, …
    pub(super) fn take(self: &Arc<Self>, wanted: &str) -> Name {
        let mut taken = self.0.lock();
        let others = (2_u64..).map(|n| format!("{wanted}~{n}"));
        let mut names = std::iter::once(wanted.to_owned()).chain(others);
        let text = names.find(|name| !taken.contains(name)).unwrap_or_default();
        taken.insert(text.clone());
        drop(taken);
        Name { text, among: Arc::clone(self) }
    }
}

impl Name {
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        self.among.0.lock().remove(&self.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_once_and_free_again() {
        let names = Arc::<Names>::default();
        let (one, two, three) = (names.take("twin"), names.take("twin"), names.take("twin"));
        assert_eq!([&one, &two, &three].map(Name::as_str), ["twin", "twin~2", "twin~3"]);
        drop(two);
        assert_eq!(names.take("twin").as_str(), "twin~2");
    }
}
