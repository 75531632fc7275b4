//! Owns the languages that are cut by lines: their names, so that a search can be limited to them, and what their
//! chunks are. Must not know grammars.

use sextant_proto::chunk::ItemType;

use crate::chunk::outline::Outline;

/// A language without a grammar.
pub(in crate::chunk) struct PlainLanguage {
    pub(super) name: &'static str,
    pub(super) extensions: &'static [&'static str],
    pub(super) filenames: &'static [&'static str],
    pub(super) item: ItemType,
    pub(super) outline: Outline,
}

const fn code(name: &'static str, extensions: &'static [&'static str]) -> PlainLanguage {
    PlainLanguage { name, extensions, filenames: &[], item: ItemType::Window, outline: Outline::None }
}

const fn config(name: &'static str, extensions: &'static [&'static str]) -> PlainLanguage {
    PlainLanguage { name, extensions, filenames: &[], item: ItemType::Config, outline: Outline::None }
}

const fn doc(name: &'static str, extensions: &'static [&'static str]) -> PlainLanguage {
    PlainLanguage { name, extensions, filenames: &[], item: ItemType::Doc, outline: Outline::None }
}

const fn files(mut language: PlainLanguage, filenames: &'static [&'static str]) -> PlainLanguage {
    language.filenames = filenames;
    language
}

const fn parts(mut language: PlainLanguage, outline: Outline) -> PlainLanguage {
    language.outline = outline;
    language
}

/// What is in no list.
pub(super) static TEXT: PlainLanguage = code("text", &[]);

pub(super) static PLAIN: &[PlainLanguage] = &[
    PlainLanguage {
        name: "markdown",
        extensions: &["md", "markdown", "mdx"],
        filenames: &[],
        item: ItemType::Doc,
        outline: Outline::Marked(b'#'),
    },
    files(doc("text", &["txt"]), &["README", "LICENSE", "CHANGELOG"]),
    parts(doc("restructuredtext", &["rst"]), Outline::Underlined),
    PlainLanguage {
        name: "asciidoc",
        extensions: &["adoc", "asciidoc"],
        filenames: &[],
        item: ItemType::Doc,
        outline: Outline::Marked(b'='),
    },
    parts(code("notebook", &["ipynb"]), Outline::Cells),
    parts(config("toml", &["toml"]), Outline::Bracketed),
    parts(config("yaml", &["yaml", "yml"]), Outline::Keyed),
    config("json", &["json", "jsonc", "json5"]),
    config("xml", &["xml", "csproj", "props", "targets", "xsd"]),
    parts(config("ini", &["ini", "cfg", "conf", "properties", "env"]), Outline::Bracketed),
    files(config("dockerfile", &["dockerfile"]), &["Dockerfile", "Containerfile"]),
    files(code("make", &["mk", "mak"]), &["Makefile", "GNUmakefile", "makefile"]),
    config("terraform", &["tf", "tfvars", "hcl"]),
    files(code("groovy", &["groovy", "gradle"]), &["Jenkinsfile"]),
    code("c", &["c", "h"]),
    code("cpp", &["cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "cu", "cuh"]),
    code("objective-c", &["m", "mm"]),
    files(code("ruby", &["rb", "rake", "gemspec"]), &["Rakefile", "Gemfile"]),
    code("swift", &["swift"]),
    code("scala", &["scala", "sc", "sbt"]),
    code("dart", &["dart"]),
    code("lua", &["lua"]),
    code("perl", &["pl", "pm"]),
    code("r", &["r"]),
    code("julia", &["jl"]),
    code("elixir", &["ex", "exs"]),
    code("erlang", &["erl", "hrl"]),
    code("haskell", &["hs"]),
    code("ocaml", &["ml", "mli"]),
    code("fsharp", &["fs", "fsi", "fsx"]),
    code("clojure", &["clj", "cljs", "cljc", "edn"]),
    code("zig", &["zig"]),
    code("nix", &["nix"]),
    code("shell", &["sh", "bash", "zsh", "fish"]),
    code("powershell", &["ps1", "psm1"]),
    parts(code("sql", &["sql"]), Outline::Statements),
    code("protobuf", &["proto"]),
    code("graphql", &["graphql", "gql"]),
    code("html", &["html", "htm"]),
    code("css", &["css", "scss", "sass", "less"]),
    code("vue", &["vue"]),
    code("svelte", &["svelte"]),
];
