//! Text without a grammar is cut where its own parts begin: headings, sections, entries, statements, cells.

use crate::chunk::tests::{assert_invariants, text};
use crate::chunk::{ChunkBudget, chunk_file};

/// First line, item and name of every chunk at a budget that takes one part.
fn parts(path: &str, code: &str, preferred: usize) -> Vec<String> {
    let budget = ChunkBudget { preferred, ..ChunkBudget::default() };
    assert_invariants(path, code.as_bytes(), &budget);
    let file = chunk_file(path, code.as_bytes(), &budget);
    let first =
        |c| String::from_utf8_lossy(text(code.as_bytes(), c)).lines().next().unwrap_or_default().to_owned();
    let name = |c: &crate::chunk::Chunk| c.name.clone().unwrap_or_default();
    file.chunks.iter().map(|c| format!("{} | {} {}", first(c), c.item.name(), name(c))).collect()
}

#[test]
fn restructured_text_is_cut_at_headings_with_and_without_an_overline() {
    let code = "=====\nTitle\n=====\n\nWords about it all.\n\nFirst part\n----------\n\nMore words, of another kind.\n\nSecond\n~~~~~~\n\nThe last words of all these.\n";
    assert_eq!(
        parts("a.rst", code, 45),
        ["===== | section Title", "First part | section First part", "Second | section Second"]
    );
}

#[test]
fn settings_are_cut_at_sections_with_their_comments() {
    let code = "# About the package.\n[package]\nname = \"a\"\nversion = \"1.0.0\"\n\n# What it needs.\n[dependencies.one]\nversion = \"1\"\nfeatures = [\n  \"x\",\n]\n\n[[bin]]\nname = \"b\"\npath = \"src/b.rs\"\n";
    assert_eq!(
        parts("a.toml", code, 70),
        [
            "# About the package. | config package",
            "# What it needs. | config dependencies.one",
            "[[bin]] | config bin"
        ]
    );
}

#[test]
fn yaml_is_cut_at_top_level_entries() {
    let code = "name: check\n\n# When it runs.\non:\n  push:\n    branches: [main, release]\n\njobs:\n  test:\n    runs-on: linux\n    steps: [checkout, test]\n";
    assert_eq!(
        parts("a.yaml", code, 52),
        ["name: check | config name", "# When it runs. | config on", "jobs: | config jobs"]
    );
}

#[test]
fn sql_is_cut_at_statements() {
    let code = "-- Who buys.\ncreate table customers (\n    id integer primary key\n);\n\ncreate function f() returns int as $$\n  begin\n    return 1;\n  end;\n$$ language plpgsql;\n\nselect id\nfrom customers\nwhere id > 10;\n";
    let starts = parts("a.sql", code, 75);
    assert_eq!(
        starts,
        [
            "-- Who buys. | section ",
            "create function f() returns int as $$ | section ",
            "select id | section "
        ]
    );
}

#[test]
fn notebooks_are_cut_at_cells() {
    let cell = |kind: &str, line: &str| {
        format!(
            "  {{\n   \"cell_type\": \"{kind}\",\n   \"metadata\": {{}},\n   \"source\": [\n    \"{line}\"\n   ]\n  }}"
        )
    };
    let cells = [
        cell("markdown", "# A title of this"),
        cell("code", "import numpy as np"),
        cell("code", "np.zeros(12)"),
    ];
    let code = format!("{{\n \"cells\": [\n{}\n ],\n \"nbformat\": 4\n}}\n", cells.join(",\n"));
    let starts = parts("a.ipynb", &code, 95);
    assert!(starts.iter().skip(1).all(|s| s.starts_with('{')), "{starts:?}");
    let budget = ChunkBudget { preferred: 95, ..ChunkBudget::default() };
    let chunks = chunk_file("a.ipynb", code.as_bytes(), &budget).chunks;
    let whole =
        |c: &str| chunks.iter().any(|k| String::from_utf8_lossy(text(code.as_bytes(), k)).contains(c.trim()));
    assert!(cells.iter().all(|c| whole(c)), "{starts:?}");
}
