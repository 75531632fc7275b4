//! Rust. Attributes stand before the item; an `impl` block is named by its type.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Section};

use crate::chunk::grammar::{Declaration, Defines, LanguageSpec, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "rust",
    extensions: &["rs"],
    filenames: &[],
    interpreters: &["rust-script"],
    grammar: || tree_sitter_rust::LANGUAGE.into(),
    declarations: &[
        Declaration::new("function_item", Function),
        Declaration::new("function_signature_item", Function),
        Declaration::new("macro_definition", Function),
        Declaration::new("struct_item", Class),
        Declaration::new("union_item", Class),
        Declaration::new("type_item", Class),
        Declaration::new("impl_item", Class).named(&[&["type"]]).defining(Defines::Nothing),
        Declaration::new("enum_item", Enum),
        Declaration::new("trait_item", Interface),
        Declaration::new("const_item", Field),
        Declaration::new("static_item", Field),
        Declaration::new("mod_item", Section),
        Declaration::new("use_declaration", Import).named(&[]),
        Declaration::new("extern_crate_declaration", Import).named(&[]),
    ],
    comments: &["line_comment", "block_comment"],
    attributes: &["attribute_item", "inner_attribute_item"],
    containers: &["mod_item"],
    wholes: &[
        "match_expression",
        "struct_item",
        "union_item",
        "enum_item",
        "macro_definition",
        "string_literal",
        "raw_string_literal",
        "parameters",
    ],
    tables: &["array_expression"],
    functions: &["closure_expression"],
    runs: &[],
    overloads: &[],
    noise: &[
        "#[inline",
        "#[must_use",
        "#[allow(",
        "#[expect(",
        "#[rustfmt::",
        "#[cold]",
        "#[track_caller]",
        "#[doc(hidden)]",
    ],
    tests: TestMarks {
        attributes: &["#[test]", "::test]", "::test(", "#[cfg(test)]", "#[rstest", "#[test_case"],
        function_prefixes: &[],
        statements: &[],
    },
};
