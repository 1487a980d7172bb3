//! Says an expression the way a person would. Each rule keeps its value.

use super::ir::{Arm, Expr, Op, Pattern, Place};

pub fn not(expr: Expr) -> Expr {
    match expr {
        Expr::Not(inner) => *inner,
        Expr::Bool(value) => Expr::Bool(!value),
        Expr::Op(Op::Lt, left, right) => Expr::Op(Op::Ge, left, right),
        Expr::Op(Op::Le, left, right) => Expr::Op(Op::Gt, left, right),
        Expr::Op(Op::Eq, left, right) => Expr::Op(Op::Ne, left, right),
        Expr::Op(Op::Ge, left, right) => Expr::Op(Op::Lt, left, right),
        Expr::Op(Op::Gt, left, right) => Expr::Op(Op::Le, left, right),
        Expr::Op(Op::Ne, left, right) => Expr::Op(Op::Eq, left, right),
        Expr::Op(Op::And, left, right) => op(Op::Or, not(*left), not(*right)),
        Expr::Op(Op::Or, left, right) => op(Op::And, not(*left), not(*right)),
        other => Expr::Not(Box::new(other)),
    }
}

pub fn op(op: Op, left: Expr, right: Expr) -> Expr {
    let swaps = matches!(op, Op::SatAdd | Op::Min | Op::Max);
    let (left, right) =
        if swaps && matches!(left, Expr::Number(_)) { (right, left) } else { (left, right) };
    Expr::Op(op, Box::new(left), Box::new(right))
}

/// `if`, or the sign that says the same.
pub fn branch(test: Expr, yes: Expr, no: Expr) -> Expr {
    match (yes, no) {
        (Expr::Bool(true), Expr::Bool(false)) => test,
        (Expr::Bool(false), Expr::Bool(true)) => not(test),
        (yes, Expr::Bool(false)) if is_plain(&yes) => op(Op::And, test, yes),
        (Expr::Bool(true), no) if is_plain(&no) => op(Op::Or, test, no),
        (Expr::Bool(false), no) if is_plain(&no) => op(Op::And, not(test), no),
        (yes, Expr::Bool(true)) if is_plain(&yes) => op(Op::Or, not(test), yes),
        (yes, no) if yes == no => yes,
        (yes, Expr::If(second, same, no)) if yes == *same => {
            branch(op(Op::Or, test, *second), yes, *no)
        }
        (yes, no) => numbered(test, yes, no),
    }
}

/// True for what stands well beside `&&`.
fn is_plain(expr: &Expr) -> bool {
    !matches!(expr, Expr::If(..) | Expr::Let(..) | Expr::Match(..))
}

/// Three or more questions in a row whether one thing is this or that number are a match.
fn numbered(test: Expr, yes: Expr, no: Expr) -> Expr {
    if let Expr::Op(Op::Eq, subject, number) = &test
        && let Expr::Number(number) = **number
        && matches!(**subject, Expr::Var(_) | Expr::Field(..))
    {
        let arm = |patterns, body| Arm { patterns, body };
        let mut arms = vec![arm(vec![Pattern::Number(number)], yes.clone())];
        match &no {
            Expr::Match(same, more)
                if same == subject && matches!(more[0].patterns[0], Pattern::Number(_)) =>
            {
                arms.extend(more.iter().cloned());
                return Expr::Match(subject.clone(), arms);
            }
            Expr::If(next, yes, no) => {
                if let Expr::Op(Op::Eq, same, number) = &**next
                    && let Expr::Number(number) = **number
                    && same == subject
                {
                    // The third question is what makes it a match: two read well as they are.
                    if let Expr::If(third, yes_third, last) = &**no
                        && let Expr::Op(Op::Eq, same, third) = &**third
                        && let Expr::Number(third) = **third
                        && same == subject
                    {
                        arms.push(arm(vec![Pattern::Number(number)], (**yes).clone()));
                        arms.push(arm(vec![Pattern::Number(third)], (**yes_third).clone()));
                        arms.push(arm(vec![Pattern::Any], (**last).clone()));
                        return Expr::Match(subject.clone(), arms);
                    }
                }
            }
            _ => {}
        }
    }
    Expr::If(Box::new(test), Box::new(yes), Box::new(no))
}

/// A record whose fields are all those of one value is that value.
pub fn record(place: Place, fields: Vec<(String, Expr)>) -> Expr {
    if let Some((_, Expr::Field(of, ..))) = fields.first()
        && fields.iter().all(|(name, value)| {
            matches!(value, Expr::Field(same, record, field) if same == of && *record == place && field == name)
        })
    {
        return (**of).clone();
    }
    Expr::Record(place, fields)
}

/// From this many members on, `_` says better than their list what happens to the rest.
const MANY: usize = 4;

/// A match whose arms of one body stand together; with `rest`, the source says `_` for most of them.
pub fn matched(subject: Expr, arms: Vec<Arm>, rest: bool) -> Expr {
    let mut joined: Vec<Arm> = Vec::new();
    for arm in arms {
        let binds = arm.patterns.iter().any(binds);
        match joined
            .iter_mut()
            .find(|same| !binds && same.body == arm.body && !same.patterns.iter().any(self::binds))
        {
            Some(same) => same.patterns.extend(arm.patterns),
            None => joined.push(arm),
        }
    }
    if joined.len() == 1 && !joined[0].patterns.iter().any(binds) {
        return joined.remove(0).body;
    }
    let longest = (0..joined.len()).max_by_key(|at| joined[*at].patterns.len()).unwrap_or(0);
    if rest && joined[longest].patterns.len() >= MANY {
        let Arm { body, .. } = joined.remove(longest);
        joined.push(Arm { patterns: vec![Pattern::Any], body });
    }
    Expr::Match(Box::new(subject), joined)
}

fn binds(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Any | Pattern::Number(_) | Pattern::None => false,
        Pattern::Var(_) => true,
        Pattern::Some(inner) => binds(inner),
        Pattern::Pair(left, right) => binds(left) || binds(right),
        Pattern::Variant(_, _, parts) => parts.iter().any(binds),
        Pattern::Record(_, fields, _) => fields.iter().any(|(_, part)| binds(part)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn var(name: &str) -> Expr {
        Expr::Var(name.to_owned())
    }

    #[test]
    fn a_negated_comparison_is_the_other_comparison() {
        let less = op(Op::Lt, var("a"), var("b"));
        assert_eq!(not(less.clone()), op(Op::Ge, var("a"), var("b")));
        assert_eq!(not(not(less.clone())), less);
    }

    #[test]
    fn true_and_false_in_a_branch_are_signs() {
        assert_eq!(branch(var("a"), var("b"), Expr::Bool(false)), op(Op::And, var("a"), var("b")));
        assert_eq!(branch(var("a"), Expr::Bool(true), var("b")), op(Op::Or, var("a"), var("b")));
        assert_eq!(branch(var("a"), Expr::Bool(false), Expr::Bool(true)), not(var("a")));
    }

    #[test]
    fn a_record_copied_field_by_field_is_itself() {
        let place = Place { module: "T".to_owned(), name: "r".to_owned() };
        let field = |name: &str| {
            (name.to_owned(), Expr::Field(Box::new(var("x")), place.clone(), name.to_owned()))
        };
        assert_eq!(record(place.clone(), vec![field("a"), field("b")]), var("x"));
        let crossed = vec![("a".to_owned(), field("b").1), ("b".to_owned(), field("a").1)];
        assert!(matches!(record(place, crossed), Expr::Record(..)));
    }

    #[test]
    fn two_tests_of_one_outcome_are_one() {
        let inner = branch(var("b"), var("x"), var("y"));
        assert_eq!(
            branch(var("a"), var("x"), inner),
            branch(op(Op::Or, var("a"), var("b")), var("x"), var("y"))
        );
    }

    #[test]
    fn arms_of_one_body_stand_together() {
        let place = Place { module: "T".to_owned(), name: "e".to_owned() };
        let arm = |name: &str, body: &str| Arm {
            patterns: vec![Pattern::Variant(place.clone(), name.to_owned(), vec![])],
            body: var(body),
        };
        let arms = ["a", "b", "c", "d"]
            .map(|name| arm(name, "same"))
            .into_iter()
            .chain([arm("e", "other")]);
        let arms: Vec<_> = arms.collect();
        let counts = |rest| match matched(var("x"), arms.clone(), rest) {
            Expr::Match(_, arms) => arms.iter().map(|arm| arm.patterns.len()).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!((counts(false), counts(true)), (vec![4, 1], vec![1, 1]));
    }

    #[test]
    fn questions_for_numbers_become_a_match() {
        let is = |n| op(Op::Eq, var("x"), Expr::Number(n));
        let two = branch(is(1), var("b"), branch(is(2), var("c"), var("d")));
        assert!(matches!(two, Expr::If(..)));
        assert!(matches!(branch(is(0), var("a"), two), Expr::Match(_, arms) if arms.len() == 4));
    }
}
