//! The words of the question occur in the names that the chunk declares.

use std::collections::HashMap;

use super::coverage;
use crate::lexical::Name;

/// 0 to 1: the best coverage of the question by one declared top-level name.
pub(in crate::rank) fn declared(terms: &[String], idf: &HashMap<String, f32>, names: &[Name]) -> f32 {
    let top = names.iter().filter(|name| !name.nested && may_share(terms, &name.name));
    top.map(|name| coverage(terms, idf, &name.name)).fold(0.0, f32::max)
}

/// Whether a word of `name` can be one of `terms`: a cheap look at beginnings, so that most names are not taken apart.
/// Stemming changes ends alone, and never the first two letters.
fn may_share(terms: &[String], name: &str) -> bool {
    let lower = name.to_lowercase();
    terms.iter().any(|term| {
        let beginning = term.char_indices().nth(2).map_or(term.as_str(), |(at, _)| &term[..at]);
        lower.contains(beginning)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::terms::term_list;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cheap_look_refuses_nothing_that_counts(query in "[a-zA-Z ]{1,20}", name in "[a-zA-Z_0-9]{1,16}") {
            let terms = term_list(&query);
            let counts = coverage(&terms, &HashMap::new(), &name) > 0.0;
            prop_assert!(!counts || may_share(&terms, &name));
        }
    }

    #[test]
    fn nested_names_do_not_count() {
        let name = |nested| Name { name: "token_store".into(), item: 1, nested };
        let terms = term_list("token");
        assert!(declared(&terms, &HashMap::new(), &[name(false)]) > 0.9);
        assert!(declared(&terms, &HashMap::new(), &[name(true)]) < 0.1);
    }
}
