//! PHP with the HTML around it. Namespaces with a body are opened.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Section};

use crate::chunk::grammar::{Declaration, LanguageSpec, Refinement, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "php",
    extensions: &["php", "phtml", "php5", "php7", "phps", "inc"],
    filenames: &[],
    interpreters: &["php"],
    grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    declarations: &[
        // Without a body it is a line like an import.
        Declaration::new("namespace_definition", Import).refined(&[Refinement {
            path: &["body"],
            kinds: &[],
            item: Section,
        }]),
        Declaration::new("class_declaration", Class),
        Declaration::new("trait_declaration", Class),
        Declaration::new("interface_declaration", Interface),
        Declaration::new("enum_declaration", Enum),
        Declaration::new("function_definition", Function),
        Declaration::new("method_declaration", Function),
        Declaration::new("property_declaration", Field).named(&[&["property_element", "name"]]),
        Declaration::new("const_declaration", Field).named(&[&["const_element", "name"]]),
        Declaration::new("namespace_use_declaration", Import).named(&[]),
    ],
    comments: &["comment"],
    attributes: &["attribute_list"],
    containers: &["namespace_definition"],
    wholes: &[
        "match_expression",
        "switch_statement",
        "enum_declaration",
        "heredoc",
        "nowdoc",
        "encapsed_string",
        "formal_parameters",
    ],
    tables: &["array_creation_expression"],
    functions: &["anonymous_function", "arrow_function"],
    runs: &[],
    overloads: &[],
    noise: &[
        "#[ReturnTypeWillChange",
        "#[\\ReturnTypeWillChange",
        "#[Override",
        "#[\\Override",
        "#[Pure",
        "// phpcs:",
        "// @phpstan-",
        "/** @phpstan-",
    ],
    tests: TestMarks {
        attributes: &["#[Test", "#[DataProvider"],
        function_prefixes: &["test"],
        statements: &[],
    },
};
