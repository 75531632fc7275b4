//! Owns what the judge knows of each language: which nodes are comments, attributes, declarations and wholes.
//! Written apart from the chunker's own tables on purpose: a judge that shares them would share their mistakes.

/// A language as the judge sees it.
pub struct Rules {
    /// The name in the report.
    pub name: &'static str,
    /// Without the dot.
    pub extensions: &'static [&'static str],
    /// The grammar that the judge parses with.
    pub grammar: fn() -> tree_sitter::Language,
    /// Comments: they lead what begins on the next line.
    pub comments: &'static [&'static str],
    /// Attributes, decorators, annotations that stand before a declaration as nodes of their own.
    pub attributes: &'static [&'static str],
    /// Declarations that must keep what leads them.
    pub declarations: &'static [&'static str],
    /// Constructs that lose their meaning when cut.
    pub wholes: &'static [&'static str],
    /// Literals that are a table unless a function stands directly in them.
    pub tables: &'static [&'static str],
}

const JS_COMMENTS: &[&str] = &["comment"];
const JS_TABLES: &[&str] = &["object", "array"];
const TS_DECLARATIONS: &[&str] = &[
    "export_statement",
    "function_declaration",
    "class_declaration",
    "abstract_class_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "enum_declaration",
    "method_definition",
    "public_field_definition",
    "lexical_declaration",
    "variable_declaration",
];
const TS_WHOLES: &[&str] = &[
    "switch_statement",
    "template_string",
    "enum_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "formal_parameters",
];
const TSX_WHOLES: &[&str] = &[
    "switch_statement",
    "template_string",
    "enum_declaration",
    "interface_declaration",
    "type_alias_declaration",
    "jsx_element",
    "jsx_self_closing_element",
    "formal_parameters",
];

/// Every language judged.
pub static RULES: &[Rules] = &[
    Rules {
        name: "kotlin",
        extensions: &["kt", "kts"],
        grammar: || tree_sitter_kotlin::LANGUAGE.into(),
        comments: &["line_comment", "multiline_comment"],
        attributes: &["annotation"],
        declarations: &[
            "class_declaration",
            "object_declaration",
            "companion_object",
            "function_declaration",
            "property_declaration",
            "type_alias",
        ],
        wholes: &[
            "when_expression",
            "enum_class_body",
            "primary_constructor",
            "string_literal",
            "function_value_parameters",
        ],
        tables: &[],
    },
    Rules {
        name: "java",
        extensions: &["java"],
        grammar: || tree_sitter_java::LANGUAGE.into(),
        comments: &["line_comment", "block_comment"],
        attributes: &[],
        declarations: &[
            "class_declaration",
            "record_declaration",
            "interface_declaration",
            "annotation_type_declaration",
            "enum_declaration",
            "method_declaration",
            "constructor_declaration",
            "field_declaration",
        ],
        wholes: &["switch_expression", "enum_declaration", "string_literal", "formal_parameters"],
        tables: &["array_initializer"],
    },
    Rules {
        name: "python",
        extensions: &["py", "pyi"],
        grammar: || tree_sitter_python::LANGUAGE.into(),
        comments: &["comment"],
        attributes: &["decorator"],
        declarations: &["decorated_definition", "class_definition", "function_definition"],
        wholes: &["match_statement", "string", "parameters"],
        tables: &["dictionary", "list", "set"],
    },
    Rules {
        name: "javascript",
        extensions: &["js", "jsx", "mjs", "cjs"],
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        comments: JS_COMMENTS,
        attributes: &["decorator"],
        declarations: &[
            "export_statement",
            "function_declaration",
            "class_declaration",
            "method_definition",
            "lexical_declaration",
            "variable_declaration",
        ],
        wholes: &[
            "switch_statement",
            "template_string",
            "jsx_element",
            "jsx_self_closing_element",
            "formal_parameters",
        ],
        tables: JS_TABLES,
    },
    Rules {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        comments: JS_COMMENTS,
        attributes: &["decorator"],
        declarations: TS_DECLARATIONS,
        wholes: TS_WHOLES,
        tables: JS_TABLES,
    },
    Rules {
        name: "typescript",
        extensions: &["tsx"],
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        comments: JS_COMMENTS,
        attributes: &["decorator"],
        declarations: TS_DECLARATIONS,
        wholes: TSX_WHOLES,
        tables: JS_TABLES,
    },
    Rules {
        name: "csharp",
        extensions: &["cs"],
        grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
        comments: &["comment"],
        attributes: &[],
        declarations: &[
            "class_declaration",
            "struct_declaration",
            "record_declaration",
            "interface_declaration",
            "enum_declaration",
            "delegate_declaration",
            "method_declaration",
            "constructor_declaration",
            "property_declaration",
            "field_declaration",
        ],
        wholes: &[
            "switch_statement",
            "switch_expression",
            "enum_declaration",
            "verbatim_string_literal",
            "raw_string_literal",
            "interpolated_string_expression",
            "parameter_list",
        ],
        tables: &["initializer_expression"],
    },
    Rules {
        name: "php",
        extensions: &["php"],
        grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
        comments: &["comment"],
        attributes: &["attribute_list"],
        declarations: &[
            "class_declaration",
            "trait_declaration",
            "interface_declaration",
            "enum_declaration",
            "function_definition",
            "method_declaration",
            "property_declaration",
            "const_declaration",
        ],
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
    },
    Rules {
        name: "go",
        extensions: &["go"],
        grammar: || tree_sitter_go::LANGUAGE.into(),
        comments: &["comment"],
        attributes: &[],
        declarations: &[
            "function_declaration",
            "method_declaration",
            "type_declaration",
            "const_declaration",
            "var_declaration",
        ],
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
    },
    Rules {
        name: "rust",
        extensions: &["rs"],
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        comments: &["line_comment", "block_comment"],
        attributes: &["attribute_item"],
        declarations: &[
            "function_item",
            "function_signature_item",
            "macro_definition",
            "struct_item",
            "union_item",
            "type_item",
            "impl_item",
            "enum_item",
            "trait_item",
            "const_item",
            "static_item",
            "mod_item",
        ],
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
    },
];

/// Kinds that make a literal more than a table, when they stand directly in it, in any language.
pub const FUNCTIONS: &[&str] = &[
    "arrow_function",
    "function_expression",
    "generator_function",
    "method_definition",
    "func_literal",
    "lambda",
    "lambda_expression",
    "anonymous_function",
    "closure_expression",
];

/// The rules of a file name.
pub fn of_path(path: &std::path::Path) -> Option<&'static Rules> {
    let extension = path.extension()?.to_str()?;
    RULES.iter().find(|rules| rules.extensions.contains(&extension))
}
