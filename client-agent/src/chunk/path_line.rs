//! Owns the short form of a path, as it stands above a chunk's text. Must not know chunks or models.

/// Characters of a path that a model is shown. Paths of large repositories are longer (nine folders, 91 characters
/// are usual): their beginning names the part of the system, their end the thing itself.
pub const PATH_CAP_CHARS: usize = 64;

/// What stands for the folders left out.
const GAP: &str = "…";

/// A path with `/` in at most `cap` characters: the longest run of first segments that fits, `…` for what falls out,
/// the parent folder and the file name. Where these two are too long, the file name alone, whole whatever its length.
/// Idempotent.
pub fn abbreviated(path: &str, cap: usize) -> String {
    if count(path) <= cap {
        return path.to_owned();
    }
    let segments: Vec<&str> = path.split('/').collect();
    let Some((file, folders)) = segments.split_last() else { return path.to_owned() };
    let Some((parent, outer)) = folders.split_last() else { return (*file).to_owned() };
    let tail = format!("{parent}/{file}");
    if count(&tail) > cap {
        return (*file).to_owned();
    }
    let fixed = format!("{GAP}/{tail}");
    if outer.is_empty() || count(&fixed) > cap {
        return tail;
    }
    let mut room = cap - count(&fixed);
    let fitting = outer.iter().take_while(|segment| {
        let needed = count(segment) + 1;
        let fits = needed <= room;
        room -= if fits { needed } else { 0 };
        fits
    });
    let mut short: String = fitting.flat_map(|segment| [segment, "/"]).collect();
    short.push_str(&fixed);
    short
}

fn count(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{abbreviated, count};

    #[test]
    fn both_ends_survive() {
        let path = "services/billing/src/main/kotlin/org/example/billing/invoice/InvoiceNumbers.kt";
        assert_eq!(abbreviated(path, 64), "services/billing/src/main/kotlin/org/…/invoice/InvoiceNumbers.kt");
        assert_eq!(abbreviated(path, 34), "…/invoice/InvoiceNumbers.kt");
        assert_eq!(abbreviated(path, 25), "invoice/InvoiceNumbers.kt");
        assert_eq!(abbreviated(path, 20), "InvoiceNumbers.kt");
        assert_eq!(abbreviated(path, 3), "InvoiceNumbers.kt");
        assert_eq!(abbreviated(path, 100), path);
        assert_eq!(abbreviated("añejo/b/c.rs", 11), "…/b/c.rs");
        assert_eq!(abbreviated("", 0), "");
    }

    fn paths() -> impl Strategy<Value = String> {
        proptest::collection::vec("[a-zé漢_.]{1,20}", 1..12).prop_map(|segments| segments.join("/"))
    }

    proptest! {
        #[test]
        fn short_idempotent_and_ends_with_the_file(path in paths(), cap in 0_usize..120) {
            let short = abbreviated(&path, cap);
            let file = path.rsplit('/').next().unwrap_or_default();
            let ending = format!("/{file}");
            prop_assert!(short == file || short.ends_with(&ending));
            prop_assert!(count(&short) <= cap.max(count(file)), "{} over {}", short, cap);
            prop_assert_eq!(abbreviated(&short, cap), short.clone());
            prop_assert!(count(&path) > cap || short == path);
        }

        #[test]
        fn the_prefix_is_the_longest_that_fits(path in paths(), cap in 0_usize..120) {
            let short = abbreviated(&path, cap);
            if let Some((head, tail)) = short.split_once('…') {
                prop_assert!(path.starts_with(head) && path.ends_with(tail));
                let next = path[head.len()..].split('/').next().unwrap_or_default();
                prop_assert!(count(&short) + count(next) + 1 > cap, "{} would have fitted", next);
            }
        }
    }
}
