//! What chunks say they define: names, kinds and nesting, in every language.

use std::fmt::Write;

use crate::chunk::ChunkBudget;
use crate::chunk::chunk_file;

fn definitions(path: &str, text: &str, preferred: usize) -> String {
    let budget = ChunkBudget { preferred, ..ChunkBudget::default() };
    let mut out = String::new();
    for definition in chunk_file(path, text.as_bytes(), &budget).chunks.iter().flat_map(|c| &c.defines) {
        let _ = write!(out, "{}:{}:{} ", definition.name, definition.item.name(), definition.depth);
    }
    out.trim_end().to_owned()
}

/// Path, text, and `name:kind:depth` in the order of the file.
const CASES: &[(&str, &str, &str)] = &[
    (
        "a.rs",
        "mod inner { pub struct Ring { a: u8 } impl Ring { const N: u8 = 1; fn turn(&self) { fn help() {} let x = 1; } } }\nenum E { A }\ntrait T { fn say(&self); }\nmacro_rules! m { () => {} }\nuse a::b;\n",
        "Ring:class:0 N:field:1 turn:method:1 help:function:2 E:enum:0 T:interface:0 say:method:1 m:function:0",
    ),
    (
        "a.go",
        "package p\nimport \"x\"\nconst (\n\tA = 1\n\tB = 2\n)\nvar c, d = 1, 2\ntype (\n\tP struct{}\n\tQ interface{ M() }\n)\ntype R = P\nfunc (p *P) Do() {}\nfunc Run() { x := 1; _ = x }\n",
        "A:field:0 B:field:0 c:field:0 P:class:0 Q:interface:0 R:class:0 Do:method:0 Run:function:0",
    ),
    (
        "a.py",
        "import x\nLIMIT = 1\nclass A(B):\n    size: int = 0\n    def __init__(self):\n        y = 1\n    @property\n    def p(self): pass\ndef f():\n    def g(): pass\n    return g\n",
        "LIMIT:field:0 A:class:0 size:field:1 __init__:method:1 p:method:1 f:function:0 g:function:1",
    ),
    (
        "a.js",
        "import x from 'y';\nexport const one = 1;\nexport default class Box { #n = 1; get() {} }\nconst two = () => { const inner = 2; };\napp.use = function () { function sub() {} };\n",
        "one:field:0 Box:class:0 n:field:1 get:method:1 two:function:0 use:function:0 sub:function:1",
    ),
    (
        "a.ts",
        "export interface Shape { area(): number; side: number }\nnamespace N { export type Id = string }\nabstract class C { abstract m(): void; x = 1 }\nexport enum E { A }\ndeclare function g(): void;\n",
        "Shape:interface:0 area:method:1 side:field:1 Id:class:0 C:class:0 m:method:1 x:field:1 E:enum:0 g:function:0",
    ),
    (
        "A.java",
        "package p;\nimport q.R;\nclass A { static final int N = 1; A() {} void m() { int local = 1; } interface I {} }\nenum E { X }\nrecord P(int x) {}\n",
        "A:class:0 N:field:1 m:method:1 I:interface:1 E:enum:0 P:class:0",
    ),
    (
        "A.kt",
        "package p\nimport q.R\nclass A(val x: Int) { val n = 1\n fun m() { val l = 1 }\n companion object { const val K = 1 }\n}\nobject O\nfun f() = 1\ntypealias T = A\ninterface I\n",
        "A:class:0 n:field:1 m:method:1 K:field:1 O:class:0 f:function:0 T:class:0 I:interface:0",
    ),
    (
        "A.cs",
        "using System;\nnamespace N { class A { int f = 1; public int P { get; set; } A() {} void M() { void L() {} } } interface I {} enum E { X } }\n",
        "A:class:0 f:field:1 P:field:1 M:method:1 L:function:2 I:interface:0 E:enum:0",
    ),
    (
        "A.php",
        "<?php\nnamespace N;\nuse X;\nconst K = 1;\nclass A { const C = 1; private $p = 1; function m() {} }\ntrait T {}\nfunction f() {}\n",
        "K:field:0 A:class:0 C:field:1 p:field:1 m:method:1 T:class:0 f:function:0",
    ),
];

#[test]
fn every_language_says_what_it_defines_whatever_the_budget() {
    for (path, text, expected) in CASES {
        for preferred in [1_000, 60, 25] {
            assert_eq!(definitions(path, text, preferred), *expected, "{path} at {preferred}");
        }
    }
}

#[test]
fn a_chunk_defines_what_begins_in_it() {
    let text = "class A {\n    void first() { one(); two(); three(); four(); }\n\n    void second() { one(); two(); three(); }\n}\n";
    let budget = ChunkBudget { preferred: 50, ..ChunkBudget::default() };
    let file = chunk_file("A.java", text.as_bytes(), &budget);
    let names: Vec<Vec<&str>> =
        file.chunks.iter().map(|c| c.defines.iter().map(|d| d.name.as_str()).collect()).collect();
    assert_eq!(names, [vec!["A", "first"], vec!["second"]]);
}

#[test]
fn headings_imports_and_names_that_nobody_could_type_define_nothing() {
    assert_eq!(definitions("a.md", "# Title\n\ntext\n", 1_000), "");
    assert_eq!(
        definitions("a.test.js", "describe('a thing', () => { it('works', () => {}); });\n", 1_000),
        ""
    );
    assert_eq!(definitions("a.js", "const { a, b } = require('x');\n", 1_000), "");
}

#[test]
fn chunks_know_what_is_around_them() {
    let text = "package p\nclass Outer {\n    class Inner {\n        fun first() { one(); two(); three() }\n\n        fun second() { one(); two(); three() }\n    }\n}\n";
    let budget = ChunkBudget { preferred: 45, ..ChunkBudget::default() };
    let file = chunk_file("A.kt", text.as_bytes(), &budget);
    let last = file.chunks.last().map(|c| (c.scopes.clone(), c.name.as_deref()));
    assert_eq!(last, Some((vec!["Outer".to_owned(), "Inner".to_owned()], Some("second"))));
}
