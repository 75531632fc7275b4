//! Java. Annotations are part of the declaration, among its modifiers.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Method, Section};

use crate::chunk::grammar::{Declaration, Defines, LanguageSpec, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "java",
    extensions: &["java"],
    filenames: &[],
    interpreters: &["java"],
    grammar: || tree_sitter_java::LANGUAGE.into(),
    declarations: &[
        Declaration::new("class_declaration", Class),
        Declaration::new("record_declaration", Class),
        Declaration::new("interface_declaration", Interface),
        Declaration::new("annotation_type_declaration", Interface),
        Declaration::new("enum_declaration", Enum),
        Declaration::new("method_declaration", Function),
        Declaration::new("constructor_declaration", Method).defining(Defines::Nothing),
        Declaration::new("compact_constructor_declaration", Method).defining(Defines::Nothing),
        Declaration::new("field_declaration", Field).named(&[&["declarator", "name"]]),
        Declaration::new("constant_declaration", Field).named(&[&["declarator", "name"]]),
        Declaration::new("module_declaration", Section),
        Declaration::new("import_declaration", Import).named(&[]),
        Declaration::new("package_declaration", Import).named(&[]),
    ],
    comments: &["line_comment", "block_comment"],
    attributes: &[],
    containers: &[],
    wholes: &["switch_expression", "enum_declaration", "string_literal", "formal_parameters"],
    tables: &["array_initializer"],
    functions: &["lambda_expression"],
    runs: &[],
    overloads: &[],
    noise: &[
        "@Override",
        "@SuppressWarnings",
        "@NotNull",
        "@NonNull",
        "@Nonnull",
        "@Nullable",
        "@CheckForNull",
        "@SafeVarargs",
        "@Generated",
        "//noinspection",
    ],
    tests: TestMarks {
        attributes: &["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory"],
        function_prefixes: &[],
        statements: &[],
    },
};
