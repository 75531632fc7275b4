//! Go. One `type (…)` or `const (…)` block is one declaration, named by its first part.

use sextant_proto::chunk::ItemType::{Class, Field, Function, Import, Interface, Method};

use crate::chunk::grammar::{Declaration, Defines, LanguageSpec, Refinement, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "go",
    extensions: &["go"],
    filenames: &[],
    interpreters: &[],
    grammar: || tree_sitter_go::LANGUAGE.into(),
    declarations: &[
        Declaration::new("function_declaration", Function),
        Declaration::new("method_declaration", Method),
        Declaration::new("type_declaration", Class)
            .named(&[&["type_spec", "name"], &["type_alias", "name"]])
            .defining(Defines::Parts)
            .refined(&[Refinement {
                path: &["type_spec", "type"],
                kinds: &["interface_type"],
                item: Interface,
            }]),
        Declaration::new("const_declaration", Field)
            .named(&[&["const_spec", "name"]])
            .defining(Defines::Parts),
        Declaration::new("var_declaration", Field)
            .named(&[&["var_spec", "name"], &["var_spec_list", "var_spec", "name"]])
            .defining(Defines::Parts),
        Declaration::new("type_spec", Class).refined(&[Refinement {
            path: &["type"],
            kinds: &["interface_type"],
            item: Interface,
        }]),
        Declaration::new("type_alias", Class),
        Declaration::new("const_spec", Field),
        Declaration::new("var_spec", Field),
        Declaration::new("import_declaration", Import).named(&[]),
        Declaration::new("package_clause", Import).named(&[]),
    ],
    comments: &["comment"],
    attributes: &[],
    containers: &[],
    wholes: &[
        "expression_switch_statement",
        "type_switch_statement",
        "select_statement",
        "const_declaration",
        "var_declaration",
        "struct_type",
        "interface_type",
        "raw_string_literal",
        "parameter_list",
    ],
    tables: &["composite_literal"],
    functions: &["func_literal"],
    runs: &[],
    overloads: &[],
    noise: &["//nolint", "// nolint", "//lint:", "//go:noinline", "//go:nosplit"],
    tests: TestMarks {
        attributes: &[],
        function_prefixes: &["Test", "Benchmark", "Example", "Fuzz"],
        statements: &[],
    },
};
