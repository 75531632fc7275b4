//! C#. Namespaces are opened; attribute lists are part of the declaration.

use sextant_proto::chunk::ItemType::{Class, Enum, Field, Function, Import, Interface, Method, Section};

use crate::chunk::grammar::{Declaration, LanguageSpec, TestMarks};

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
        Declaration::new("constructor_declaration", Method),
        Declaration::new("destructor_declaration", Method),
        Declaration::new("operator_declaration", Method).named(&[&["operator"]]),
        Declaration::new("conversion_operator_declaration", Method).named(&[&["type"]]),
        Declaration::new("indexer_declaration", Method).named(&[&["this"]]),
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
    tests: TestMarks {
        attributes: &["[Fact", "[Theory", "[Test", "[DataTestMethod"],
        function_prefixes: &[],
        statements: &[],
    },
};
