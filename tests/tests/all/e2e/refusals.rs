//! What cannot be done is refused with code 2 and one clear line, and leaves no trace.

use std::fs;

use super::sandbox::{Model, Sandbox, Told};

/// Checks a refusal: nothing on standard output, one line on standard error that holds every part.
fn check(told: &Told, parts: &[&str]) {
    assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
    assert!(told.err.starts_with("sextant: ") && told.err.trim_end().lines().count() == 1, "{told:?}");
    for part in parts {
        assert!(told.err.contains(part), "no {part:?} in {told:?}");
    }
    for word in ["panicked", "RUST_BACKTRACE", "Error {"] {
        assert!(!told.err.contains(word), "{told:?}");
    }
}

#[test]
fn paths_that_cannot_be_indexed_leave_no_trace() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    for (words, parts) in [
        (["index", "nowhere"], ["nowhere", "check the spelling"]),
        (["index", "a.py"], ["a.py", "is not a folder"]),
        (["index", "a.py/deeper"], ["a.py/deeper", "check the spelling"]),
        (["status", "nowhere"], ["nowhere", "check the spelling"]),
    ] {
        check(&sandbox.run(&words), &parts);
    }
    check(&sandbox.run(&["search", "alpaca", "nowhere"]), &["nowhere", "check the spelling"]);
    check(&sandbox.run(&["search", "alpaca", "a.py"]), &["a.py", "is not a folder"]);
    let status = sandbox.status();
    assert_eq!((status["trees"].as_array().map(Vec::len), status["vectors"].as_u64()), (Some(0), Some(0)));
}

#[test]
fn words_that_mean_nothing_are_refused_before_anything_starts() {
    let sandbox = Sandbox::new(Model::Fake);
    for (words, parts) in
        [(&["search", ""][..], &["the query is empty"][..]), (&["search", " \t\n"], &["the query is empty"])]
    {
        check(&sandbox.run(words), parts);
    }
    // The parser explains itself on more lines than one.
    for words in [&["search", "x", "-k", "0"][..], &["search", "x", "--lang", "rust,,go"], &["serach", "x"]] {
        let told = sandbox.run(words);
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{told:?}");
        assert!(told.err.starts_with("sextant: ") && !told.err.contains("panicked"), "{told:?}");
    }
    assert!(!sandbox.data().exists());
}

#[test]
fn a_configuration_with_a_slip_is_refused_and_the_slip_is_named() {
    let sandbox = Sandbox::new(Model::Fake);
    for (text, parts) in [
        ("backends = \"fake\"\n", ["config.toml", "`backends`", "did you mean `backend`?"]),
        ("backend = \"gpu\"\n", ["`backend`", "`gpu`", "onnx or fake"]),
        ("code_bits = 100\n", ["`code_bits`", "100", "correct it"]),
    ] {
        sandbox.configure(text);
        check(&sandbox.run(&["index"]), &parts);
    }
    assert!(!sandbox.data().exists());
    let mut command = sandbox.command(&["index"]);
    command.env("SEXTANT_CONFIG", sandbox.path("none.toml"));
    check(&sandbox.finish(command), &["none.toml", "--config"]);
    let mut command = sandbox.command(&["index"]);
    command.env("SEXTANT_LOG", "loud");
    sandbox.configure("backend = \"fake\"\n");
    check(&sandbox.finish(command), &["`log`", "`loud`"]);
}

#[test]
fn what_set_up_brings_is_missed_by_name() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    for (key, repair) in [("model", "setup.sh"), ("onnxruntime", "setup.sh")] {
        let missing = sandbox.path("missing");
        sandbox.configure(&format!("{key} = \"{}\"\n", missing.display()));
        check(&sandbox.run(&["index"]), &["missing", repair]);
    }
    sandbox.configure("backend = \"fake\"\n");
    assert_eq!(sandbox.status()["trees"].as_array().map(Vec::len), Some(0));
    assert_eq!(sandbox.index()["files"], 1, "and works once it is there");
}

#[test]
fn a_data_folder_that_is_none_is_named() {
    let sandbox = Sandbox::new(Model::Fake);
    fs::write(sandbox.data(), "a file").expect("written");
    check(&sandbox.run(&["index"]), &["data", "SEXTANT_DATA_DIR"]);
    assert_eq!(fs::read(sandbox.data()).expect("still there"), b"a file");
}

#[test]
fn a_damaged_store_is_named_and_nothing_panics() {
    let sandbox = Sandbox::new(Model::Fake);
    sandbox.write("a.py", "def alpaca():\n    return 1\n");
    sandbox.index();
    for file in ["client/manifest.redb", "shard/CURRENT", "client/org.key", "org/ca.crt"] {
        sandbox.stop();
        let path = sandbox.data().join(file);
        let whole = fs::read(&path).expect("it is there");
        fs::write(&path, b"garbage").expect("written");
        let told = sandbox.run(&["search", "alpaca"]);
        assert_eq!((told.code, told.out.as_str()), (Some(2), ""), "{file}: {told:?}");
        let (folder, name) = file.split_once('/').expect("two parts");
        assert!(told.err.contains(if folder == "shard" { folder } else { name }), "{file}: {told:?}");
        assert!(!told.err.contains("panicked"), "{file}: {told:?}");
        fs::write(&path, whole).expect("written");
    }
    assert_eq!(sandbox.search(&["alpaca"]).len(), 1);
}
