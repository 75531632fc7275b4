//! Python. A decorated definition is one declaration; the definition inside it is not a second one.

use sextant_proto::chunk::ItemType::{Class, Field, Function, Import};

use crate::chunk::grammar::{Declaration, LanguageSpec, Refinement, Run, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "python",
    extensions: &["py", "pyi", "pyw"],
    filenames: &["SConstruct", "wscript"],
    interpreters: &["python", "uv"],
    grammar: || tree_sitter_python::LANGUAGE.into(),
    declarations: &[
        Declaration::new("decorated_definition", Function)
            .named(&[&["definition", "name"]])
            .refined(&[Refinement { path: &["definition"], kinds: &["class_definition"], item: Class }]),
        Declaration::new("class_definition", Class),
        Declaration::new("function_definition", Function),
        Declaration::only_if(
            "expression_statement",
            &[Refinement { path: &["assignment", "left"], kinds: &["identifier"], item: Field }],
        )
        .named(&[&["assignment", "left"]]),
        Declaration::new("type_alias_statement", Class).named(&[&["left"]]),
        Declaration::new("import_statement", Import).named(&[]),
        Declaration::new("import_from_statement", Import).named(&[]),
        Declaration::new("future_import_statement", Import).named(&[]),
    ],
    comments: &["comment"],
    attributes: &["decorator"],
    containers: &[],
    wholes: &["match_statement", "string", "parameters"],
    tables: &["dictionary", "list", "set"],
    functions: &["lambda"],
    runs: &[Run { kind: "expression_statement", path: &["assignment", "type"] }],
    overloads: &["decorated_definition"],
    noise: &["# noqa", "# type: ignore", "# pylint:", "# pragma:", "# fmt:", "@override", "@typing.override"],
    tests: TestMarks { attributes: &["@pytest.mark"], function_prefixes: &["test_"], statements: &[] },
};
