//! One source file without its tests: its `use` declarations and the paths in its code.

use std::sync::LazyLock;

use regex::Regex;

use super::super::code::blank;

const TESTS_ONLY: &str = "#[cfg(test)]";

static USE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"(?m)^[ \t]*(pub(?:\([^)]*\))?[ \t]+)?use\s+([^;]+);"));
static MODULE: LazyLock<Regex> = LazyLock::new(|| pattern(r"\bmod\s+[A-Za-z_][A-Za-z0-9_]*;"));
static PATH: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"[A-Za-z_][A-Za-z0-9_]*(?:::[A-Za-z_][A-Za-z0-9_]*)+"));
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?([A-Za-z_][A-Za-z0-9_]*)",
    )
});

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

/// The names that a file defines, imports and uses.
#[derive(Debug, Default)]
pub(super) struct FileText {
    pub(super) imports: Vec<Import>,
    /// Paths in code, outside of `use`.
    pub(super) paths: Vec<Vec<String>>,
    /// Items that the file defines, methods too.
    pub(super) defined: Vec<String>,
    /// Modules that are compiled for tests only.
    pub(super) test_modules: Vec<String>,
    /// Code without `use` and `mod` declarations, comments and strings.
    body: String,
}

/// One name that a `use` declaration imports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// The name in this file; `*` for all of a module.
    pub(super) name: String,
    pub(super) is_public: bool,
}

impl FileText {
    pub(super) fn parse(source: &str) -> FileText {
        let (code, tests) = split_tests(&blank(source));
        let test_module = |item: &String| {
            let name = item.split_once("mod ")?.1;
            Some(name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        };
        let mut imports = Vec::new();
        for found in USE.captures_iter(&code) {
            let is_public = found.get(1).is_some();
            expand(&[], found[2].trim(), &mut |path, name| imports.push(Import { path, name, is_public }));
        }
        let body = MODULE.replace_all(&USE.replace_all(&code, ""), "").into_owned();
        let is_whole = |at: usize| !body[..at].ends_with("::");
        let paths = PATH.find_iter(&body).filter(|found| is_whole(found.start()));
        let paths = paths.map(|found| found.as_str().split("::").map(str::to_owned).collect()).collect();
        let defined = DEFINITION.captures_iter(&body).map(|found| found[1].to_owned()).collect();
        FileText {
            imports,
            paths,
            defined,
            test_modules: tests.iter().filter_map(test_module).collect(),
            body,
        }
    }

    /// Whether `name` occurs in the code, outside of `use`.
    pub(super) fn mentions(&self, name: &str) -> bool {
        let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        self.body.match_indices(name).any(|(at, _)| {
            !is_word(self.body[..at].chars().next_back())
                && !is_word(self.body[at + name.len()..].chars().next())
        })
    }
}

/// The code without the items that are only for tests, and the texts of these items.
fn split_tests(code: &str) -> (String, Vec<String>) {
    let (mut kept, mut tests) = (String::new(), Vec::new());
    let mut rest = code;
    while let Some(at) = rest.find(TESTS_ONLY) {
        kept.push_str(&rest[..at]);
        let item = &rest[at + TESTS_ONLY.len()..];
        let end = item_end(item);
        tests.push(item[..end].to_owned());
        rest = &item[end..];
    }
    kept.push_str(rest);
    (kept, tests)
}

/// Where the item that `text` begins with ends: at its semicolon or its closing brace.
fn item_end(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b';' if depth == 0 => return at + 1,
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' if depth == 0 => return at,
            b'}' if depth == 1 && !text[at + 1..].trim_start().starts_with(';') => return at + 1,
            b'}' | b')' | b']' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Calls `found` with every path of a `use` tree and the name that it gets.
fn expand(prefix: &[String], tree: &str, found: &mut impl FnMut(Vec<String>, String)) {
    let tree = tree.trim();
    let segments = |text: &str| -> Vec<String> {
        let names = text.split("::").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        prefix.iter().cloned().chain(names).collect()
    };
    if let Some((head, list)) = tree.split_once('{') {
        let prefix = segments(head);
        let list = list.rsplit_once('}').map_or(list, |(list, _)| list);
        for one in split_list(list) {
            expand(&prefix, one, found);
        }
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let mut path = segments(path);
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(name) = alias.or_else(|| path.last().cloned()) {
        found(path, name);
    }
}

/// The elements of a list, whose own lists keep their commas.
fn split_list(list: &str) -> Vec<&str> {
    let (mut depth, mut from) = (0usize, 0);
    let mut elements = Vec::new();
    for (at, byte) in list.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                elements.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    elements.push(&list[from..]);
    elements.retain(|element| !element.trim().is_empty());
    elements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_use_tree_is_found() {
        let text = FileText::parse("pub(crate) use a::{b, c::{self, d as e}};\nuse super::*;\n");
        let found: Vec<String> =
            text.imports.iter().map(|import| format!("{}={}", import.name, import.path.join("/"))).collect();
        assert_eq!(found, ["b=a/b", "c=a/c", "e=a/c/d", "*=super/*"]);
        assert!(text.imports[0].is_public && !text.imports[3].is_public);
    }

    #[test]
    fn tests_are_not_read() {
        let source = "#[cfg(test)]\nmod conformance;\n#[cfg(test)]\nuse x::{y};\nuse z;\n#[cfg(test)]\nmod tests { use w; }\n";
        let text = FileText::parse(source);
        assert_eq!(text.imports.iter().map(|import| import.name.as_str()).collect::<Vec<_>>(), ["z"]);
        assert_eq!(text.test_modules, ["conformance", "tests"]);
    }

    #[test]
    fn paths_in_code_are_found_and_those_in_comments_are_not() {
        let text = FileText::parse("// a::b\nfn f() { crate::c::d(); e::<u8>(); \"g::h\"; }\n");
        assert_eq!(text.paths, [["crate", "c", "d"]]);
        assert_eq!(text.defined, ["f"]);
        assert!(text.mentions("d") && !text.mentions("b"));
    }
}
