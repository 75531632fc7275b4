//! Nine languages, asked in words that do not stand in the code, with the model that users have.

use std::collections::BTreeSet;
use std::path::Path;

use super::sandbox::{Model, Sandbox, files_below, line_at, number, text};

/// A question and the file that answers it, with its language and what its first chunk is.
const QUESTIONS: &[(&str, &str, &str)] = &[
    ("limit how often requests may be made", "rust/bucket.rs", "rust"),
    ("throw out the least recently used item of a cache", "rust/lru.rs", "rust"),
    ("cheaper for people who have bought from us for years", "kotlin/Discount.kt", "kotlin"),
    ("get a new credential before the old one is no longer valid", "kotlin/Session.kt", "kotlin"),
    ("pay a sum to somebody else", "java/Ledger.java", "java"),
    ("parse one row of a spreadsheet export", "java/CsvReader.java", "java"),
    ("wait until the user stops typing", "typescript/debounce.ts", "typescript"),
    ("date picker component", "typescript/Calendar.tsx", "typescript"),
    ("correct typos by edit distance", "python/spelling.py", "python"),
    ("make an image smaller", "python/thumbnails.py", "python"),
    ("what does the shopping basket cost", "javascript/cart.js", "javascript"),
    ("restore a lost connection to the server with backoff", "javascript/reconnect.js", "javascript"),
    ("check a login secret", "php/Passwords.php", "php"),
    ("email with an attachment", "php/Mailer.php", "php"),
    ("run tasks in parallel on several threads", "go/pool.go", "go"),
    ("cached domain name lookups", "go/resolver.go", "go"),
    ("convert between units of heat", "csharp/Temperature.cs", "csharp"),
    ("ctrl-z in a text editor", "csharp/History.cs", "csharp"),
];

/// Fields of a line of `--jsonl`, in their order.
const FIELDS: [&str; 12] = [
    "path",
    "start_line",
    "end_line",
    "start_byte",
    "end_byte",
    "score",
    "item",
    "lang",
    "collection",
    "revision",
    "state",
    "snippet",
];

/// A sandbox whose tree is the fixture repository.
fn nine() -> Sandbox {
    let sandbox = Sandbox::new(Model::Real);
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/nine");
    for (path, bytes) in files_below(&fixture) {
        let path = path.strip_prefix(&fixture).expect("it lies below");
        sandbox.write(path.to_str().expect("a plain name"), bytes);
    }
    sandbox
}

#[test]
fn a_question_in_plain_words_finds_its_file_in_each_of_nine_languages() {
    let sandbox = nine();
    let mut first = 0;
    for (at, (question, path, language)) in QUESTIONS.iter().enumerate() {
        // The first question indexes.
        let told = sandbox.run(&["search", "--jsonl", "-k", "3", question]);
        assert_eq!(told.code, Some(0), "{told:?}");
        let hits = told.hits();
        assert_eq!(hits.len(), 3, "{question}");
        let rank = hits.iter().position(|hit| text(hit, "path") == *path);
        let Some(rank) = rank else {
            let paths: Vec<_> = hits.iter().map(|hit| text(hit, "path")).collect();
            panic!("{question}: {path} is not among {paths:?}");
        };
        first += usize::from(rank == 0);
        assert_eq!(text(&hits[rank], "lang"), *language);
        assert!(at > 0 || sandbox.data().join("shard").is_dir(), "the first question made the index");

        for (hit, line) in hits.iter().zip(told.out.lines()) {
            let fields: Vec<_> = hit.as_object().expect("an object").keys().collect();
            assert_eq!(fields.len(), FIELDS.len(), "{line}");
            let places: Vec<_> = FIELDS.iter().map(|field| line.find(&format!("\"{field}\":"))).collect();
            assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{line}");
            check_text(&sandbox, hit);
        }
        let scores: Vec<_> = hits.iter().filter_map(|hit| hit["score"].as_f64()).collect();
        assert!(scores.len() == 3 && scores.is_sorted_by(|a, b| a >= b) && scores[0] <= 1.0, "{scores:?}");
    }
    assert!(first * 10 >= QUESTIONS.len() * 8, "only {first} of {} are first", QUESTIONS.len());
}

/// State, bytes and lines of a hit are those of the file.
fn check_text(sandbox: &Sandbox, hit: &serde_json::Value) {
    let bytes = sandbox.read(text(hit, "path"));
    let (start, end) = (number(hit, "start_byte") as usize, number(hit, "end_byte") as usize);
    assert_eq!(text(hit, "snippet").as_bytes(), &bytes[start..end], "{hit}");
    assert_eq!(
        (number(hit, "start_line"), number(hit, "end_line")),
        (line_at(&bytes, start), line_at(&bytes, end - 1)),
        "{hit}"
    );
    assert_eq!(text(hit, "state"), "exact");
    assert!(text(hit, "collection").starts_with("local/tree-"), "{hit}");
    assert!(text(hit, "revision").len() == 64, "{hit}");
}

#[test]
fn filters_limits_and_exit_codes_hold() {
    let sandbox = nine();
    let question = "limit how often requests may be made";
    let report = sandbox.index();
    let all = sandbox.search(&[question, "-k", "1000"]);
    assert_eq!(all.len() as u64, number(&report, "chunks"));
    let languages: BTreeSet<_> = all.iter().map(|hit| text(hit, "lang")).collect();
    for language in QUESTIONS.iter().map(|(.., language)| *language).collect::<BTreeSet<_>>() {
        assert!(languages.contains(language), "{language} is not in {languages:?}");
    }
    // A filter leaves what it admits; scores are relative to the candidates, so they may differ. A limit cuts.
    let places = |hits: &[serde_json::Value]| -> BTreeSet<(String, u64)> {
        hits.iter().map(|hit| (text(hit, "path").to_owned(), number(hit, "start_byte"))).collect()
    };
    for (filter, admitted) in [("go", &["go"][..]), ("java,Kotlin", &["java", "kotlin"])] {
        let expected: Vec<_> =
            all.iter().filter(|hit| admitted.contains(&text(hit, "lang"))).cloned().collect();
        assert!(expected.len() > 1, "{filter}");
        let filtered = sandbox.search(&[question, "-k", "1000", "--lang", filter]);
        assert_eq!(places(&filtered), places(&expected), "{filter}");
        assert_eq!(filtered.len(), expected.len(), "{filter}");
        assert_eq!(sandbox.search(&[question, "-k", "1", "--lang", filter]), filtered[..1], "{filter}");
    }
    assert_eq!(sandbox.search(&[question]), all[..10]);

    for (words, code) in [
        (vec!["search", question], 0),
        (vec!["search", question, "--lang", "cobol"], 1),
        (vec!["search", question, "--lang", "cobol", "--json"], 1),
        (vec!["search", question, "nowhere"], 2),
        (vec!["status"], 0),
    ] {
        let told = sandbox.run(&words);
        assert_eq!(told.code, Some(code), "{words:?}: {told:?}");
        assert_eq!(told.out.is_empty(), code == 2 || words.ends_with(&["cobol"]), "{words:?}: {told:?}");
    }
    let plain = sandbox.search(&[question, "--no-snippet", "-k", "1"]);
    assert!(plain[0]["snippet"].is_null() && text(&plain[0], "state") == "exact", "{plain:?}");
}
