//! Kotlin. The grammar has no fields: names are found by the kind of a child.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Method};

use crate::chunk::grammar::{Declaration, Defines, LanguageSpec, Refinement, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "kotlin",
    extensions: &["kt", "kts"],
    filenames: &[],
    interpreters: &["kotlin"],
    grammar: || tree_sitter_kotlin::LANGUAGE.into(),
    declarations: &[
        Declaration::new("class_declaration", Class).named(&[&["type_identifier"]]).refined(&[
            Refinement { path: &["interface"], kinds: &[], item: Interface },
            Refinement { path: &["enum_class_body"], kinds: &[], item: Enum },
        ]),
        Declaration::new("object_declaration", Class).named(&[&["type_identifier"]]),
        // Its members are called by the name of the class around it.
        Declaration::new("companion_object", Class).named(&[&["type_identifier"]]).defining(Defines::Parts),
        Declaration::new("function_declaration", Function).named(&[&["simple_identifier"]]),
        Declaration::new("secondary_constructor", Method)
            .named(&[&["constructor"]])
            .defining(Defines::Nothing),
        Declaration::new("property_declaration", Field)
            .named(&[&["variable_declaration", "simple_identifier"]]),
        Declaration::new("type_alias", Class).named(&[&["type_identifier"]]),
        Declaration::new("import_list", Import).named(&[]),
        Declaration::new("import_header", Import).named(&[]),
        Declaration::new("package_header", Import).named(&[]),
    ],
    comments: &["line_comment", "multiline_comment"],
    attributes: &["annotation", "file_annotation"],
    containers: &[],
    wholes: &[
        "when_expression",
        "enum_class_body",
        "primary_constructor",
        "string_literal",
        "function_value_parameters",
    ],
    tables: &[],
    functions: &[],
    runs: &[],
    overloads: &[],
    noise: &[
        "@Suppress",
        "@JvmStatic",
        "@JvmOverloads",
        "@JvmField",
        "@JvmName",
        "@NotNull",
        "@Nullable",
        "@OptIn",
        "// noinspection",
        "//noinspection",
    ],
    tests: TestMarks {
        attributes: &["@Test", "@ParameterizedTest", "@RepeatedTest"],
        function_prefixes: &[],
        statements: &[],
    },
};
