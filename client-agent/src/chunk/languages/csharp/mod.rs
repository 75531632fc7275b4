//! C#. Namespaces are opened; attribute lists are part of the declaration.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Method, Section};

use crate::chunk::grammar::{Declaration, Defines, LanguageSpec, TestMarks};

pub(in crate::chunk) static SPEC: LanguageSpec = LanguageSpec {
    name: "csharp",
    extensions: &["cs", "csx"],
    filenames: &[],
    interpreters: &["dotnet-script"],
    grammar: || tree_sitter_c_sharp::LANGUAGE.into(),
    declarations: &[
        Declaration::new("namespace_declaration", Section),
        Declaration::new("class_declaration", Class),
        Declaration::new("struct_declaration", Class),
        Declaration::new("record_declaration", Class),
        Declaration::new("delegate_declaration", Class),
        Declaration::new("interface_declaration", Interface),
        Declaration::new("enum_declaration", Enum),
        Declaration::new("method_declaration", Function),
        Declaration::new("local_function_statement", Function),
        Declaration::new("constructor_declaration", Method).defining(Defines::Nothing),
        Declaration::new("destructor_declaration", Method).defining(Defines::Nothing),
        Declaration::new("operator_declaration", Method).named(&[&["operator"]]).defining(Defines::Nothing),
        Declaration::new("conversion_operator_declaration", Method)
            .named(&[&["type"]])
            .defining(Defines::Nothing),
        Declaration::new("indexer_declaration", Method).named(&[&["this"]]).defining(Defines::Nothing),
        Declaration::new("property_declaration", Field),
        Declaration::new("event_declaration", Field),
        Declaration::new("field_declaration", Field).named(&[&[
            "variable_declaration",
            "variable_declarator",
            "name",
        ]]),
        Declaration::new("event_field_declaration", Field).named(&[&[
            "variable_declaration",
            "variable_declarator",
            "name",
        ]]),
        Declaration::new("using_directive", Import).named(&[]),
        Declaration::new("extern_alias_directive", Import).named(&[]),
        Declaration::new("file_scoped_namespace_declaration", Import).named(&[]),
    ],
    comments: &["comment"],
    attributes: &["attribute_list", "global_attribute"],
    containers: &["namespace_declaration"],
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
    functions: &["lambda_expression", "anonymous_method_expression"],
    runs: &[],
    overloads: &[],
    noise: &[
        "[NotNull",
        "[CanBeNull",
        "[MaybeNull",
        "[AllowNull",
        "[SuppressMessage",
        "[DebuggerStepThrough",
        "[DebuggerDisplay",
        "[MethodImpl",
        "[CompilerGenerated",
        "[ExcludeFromCodeCoverage",
        "[EditorBrowsable",
        "[CLSCompliant",
    ],
    tests: TestMarks {
        attributes: &["[Fact", "[Theory", "[Test", "[DataTestMethod"],
        function_prefixes: &[],
        statements: &[],
    },
};
