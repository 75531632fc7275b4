//! TypeScript and TSX: one description over two grammars, since `<T>x` means other things in them.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Section};

use crate::chunk::grammar::{Declaration, LanguageSpec, Refinement, TestMarks};

/// Kinds of values that make a constant a function.
const FUNCTIONS: &[&str] = &["arrow_function", "function_expression", "generator_function"];

const NAME: &str = "typescript";

const DECLARATIONS: &[Declaration] = &[
    Declaration::new("export_statement", Section)
        .named(&[
            &["declaration", "name"],
            &["declaration", "variable_declarator", "name"],
            &["value", "name"],
        ])
        .refined(&[
            Refinement {
                path: &["declaration"],
                kinds: &["function_declaration", "generator_function_declaration", "function_signature"],
                item: Function,
            },
            Refinement {
                path: &["declaration"],
                kinds: &["class_declaration", "abstract_class_declaration", "type_alias_declaration"],
                item: Class,
            },
            Refinement { path: &["declaration"], kinds: &["interface_declaration"], item: Interface },
            Refinement { path: &["declaration"], kinds: &["enum_declaration"], item: Enum },
            Refinement {
                path: &["declaration", "variable_declarator", "value"],
                kinds: FUNCTIONS,
                item: Function,
            },
            Refinement {
                path: &["declaration", "variable_declarator", "value"],
                kinds: &["class"],
                item: Class,
            },
            Refinement { path: &["declaration", "variable_declarator"], kinds: &[], item: Field },
            Refinement { path: &["value"], kinds: FUNCTIONS, item: Function },
            Refinement { path: &["value"], kinds: &["class"], item: Class },
        ]),
    Declaration::new("function_declaration", Function),
    Declaration::new("generator_function_declaration", Function),
    Declaration::new("function_signature", Function),
    Declaration::new("class_declaration", Class),
    Declaration::new("abstract_class_declaration", Class),
    Declaration::new("interface_declaration", Interface),
    Declaration::new("type_alias_declaration", Class),
    Declaration::new("enum_declaration", Enum),
    Declaration::new("internal_module", Section),
    Declaration::new("module", Section),
    Declaration::new("method_definition", Function),
    Declaration::new("method_signature", Function),
    Declaration::new("abstract_method_signature", Function),
    Declaration::new("public_field_definition", Field),
    Declaration::new("property_signature", Field),
    Declaration::new("lexical_declaration", Field).named(&[&["variable_declarator", "name"]]).refined(&[
        Refinement { path: &["variable_declarator", "value"], kinds: FUNCTIONS, item: Function },
        Refinement { path: &["variable_declarator", "value"], kinds: &["class"], item: Class },
    ]),
    Declaration::new("variable_declaration", Field)
        .named(&[&["variable_declarator", "name"]])
        .refined(&[Refinement { path: &["variable_declarator", "value"], kinds: FUNCTIONS, item: Function }]),
    Declaration::only_if(
        "expression_statement",
        &[
            Refinement { path: &["assignment_expression", "right"], kinds: FUNCTIONS, item: Function },
            Refinement { path: &["internal_module"], kinds: &[], item: Section },
        ],
    )
    .named(&[&["assignment_expression", "left"], &["internal_module", "name"]]),
    Declaration::new("import_statement", Import).named(&[]),
    Declaration::new("import_alias", Import).named(&[]),
];

const TESTS: TestMarks = TestMarks {
    attributes: &[],
    function_prefixes: &[],
    statements: &["describe(", "describe.", "it(", "it.", "test(", "test.", "suite("],
};

const WHOLES: &[&str] = &[
    "switch_statement",
    "template_string",
    "enum_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "formal_parameters",
];

/// The grammar of plain TypeScript has no elements.
const TSX_WHOLES: &[&str] = &[
    "switch_statement",
    "template_string",
    "enum_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "formal_parameters",
    "jsx_element",
    "jsx_self_closing_element",
];

const fn spec(
    extensions: &'static [&'static str],
    wholes: &'static [&'static str],
    grammar: fn() -> tree_sitter::Language,
) -> LanguageSpec {
    LanguageSpec {
        name: NAME,
        extensions,
        filenames: &[],
        interpreters: &[],
        grammar,
        declarations: DECLARATIONS,
        comments: &["comment", "html_comment"],
        attributes: &["decorator"],
        containers: &["ambient_declaration"],
        wholes,
        tables: &["object", "array"],
        functions: &["arrow_function", "function_expression", "generator_function", "method_definition"],
        runs: &[],
        overloads: &["function_signature", "export_statement", "method_signature"],
        noise: &["// eslint-", "/* eslint", "// prettier-ignore", "// @ts-", "/* istanbul"],
        tests: TESTS,
    }
}

pub(in crate::chunk) static SPEC: LanguageSpec =
    spec(&["ts", "mts", "cts"], WHOLES, || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into());

pub(in crate::chunk) static TSX: LanguageSpec =
    spec(&["tsx"], TSX_WHOLES, || tree_sitter_typescript::LANGUAGE_TSX.into());
