//! JavaScript with JSX. A constant that holds a function is a function, exported or not.

use sextant_proto::chunk::ItemType::{Class, Field, Function, Import, Section};

use crate::chunk::grammar::{Declaration, LanguageSpec, Refinement, TestMarks};

/// Kinds of values that make a constant a function.
const FUNCTIONS: &[&str] = &["arrow_function", "function_expression", "generator_function"];

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "javascript",
    extensions: &["js", "jsx", "mjs", "cjs"],
    filenames: &[],
    interpreters: &["node", "bun"],
    grammar: || tree_sitter_javascript::LANGUAGE.into(),
    declarations: &[
        Declaration::new("export_statement", Section)
            .named(&[
                &["declaration", "name"],
                &["declaration", "variable_declarator", "name"],
                &["value", "name"],
            ])
            .refined(&[
                Refinement {
                    path: &["declaration"],
                    kinds: &["function_declaration", "generator_function_declaration"],
                    item: Function,
                },
                Refinement { path: &["declaration"], kinds: &["class_declaration"], item: Class },
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
        Declaration::new("class_declaration", Class),
        Declaration::new("method_definition", Function),
        Declaration::new("field_definition", Field).named(&[&["property"]]),
        Declaration::new("lexical_declaration", Field).named(&[&["variable_declarator", "name"]]).refined(&[
            Refinement { path: &["variable_declarator", "value"], kinds: FUNCTIONS, item: Function },
            Refinement { path: &["variable_declarator", "value"], kinds: &["class"], item: Class },
        ]),
        Declaration::new("variable_declaration", Field).named(&[&["variable_declarator", "name"]]).refined(
            &[Refinement { path: &["variable_declarator", "value"], kinds: FUNCTIONS, item: Function }],
        ),
        Declaration::only_if(
            "expression_statement",
            &[
                Refinement { path: &["assignment_expression", "right"], kinds: FUNCTIONS, item: Function },
                Refinement { path: &["assignment_expression", "right"], kinds: &["class"], item: Class },
            ],
        )
        .named(&[&["assignment_expression", "left"]]),
        Declaration::new("import_statement", Import).named(&[]),
    ],
    comments: &["comment", "html_comment"],
    attributes: &["decorator"],
    containers: &[],
    wholes: &[
        "switch_statement",
        "template_string",
        "formal_parameters",
        "jsx_element",
        "jsx_self_closing_element",
    ],
    tables: &["object", "array"],
    functions: &["arrow_function", "function_expression", "generator_function", "method_definition"],
    runs: &[],
    overloads: &[],
    noise: &["// eslint-", "/* eslint", "// prettier-ignore", "// @ts-", "/* istanbul"],
    tests: TestMarks {
        attributes: &[],
        function_prefixes: &[],
        statements: &["describe(", "describe.", "it(", "it.", "test(", "test.", "suite(", "QUnit.test("],
    },
};
