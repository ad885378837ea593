//! Doc comments: the prose for people and the tags for machines.
//!
//! A tag is a line of its own: `@nullable buffer, return`, `@in buffer`, `@inout partitions`,
//! `@since 1.1`. Names must be those of pointer arguments (or `return`), so a renamed argument
//! fails the generator instead of drifting.

use cbindgen::bindgen::ir::Documentation;

/// A doc comment, taken apart.
#[derive(Debug, Default)]
pub struct Doc {
    lines: Vec<String>,
    pub nullable: Vec<String>,
    pub inputs: Vec<String>,
    pub inouts: Vec<String>,
    pub since: Option<String>,
}

impl Doc {
    /// Reads a doc comment. Everything from a `# Safety` heading on is for Rust and left out.
    pub fn parse(documentation: &Documentation) -> Result<Doc, String> {
        let mut doc = Doc::default();
        for line in &documentation.doc_comment {
            let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
            if line == "# Safety" {
                break;
            }
            match line.strip_prefix('@') {
                Some(tag) => doc.add_tag(tag)?,
                None => doc.lines.push(line.to_owned()),
            }
        }
        while doc.lines.last().is_some_and(String::is_empty) {
            doc.lines.pop();
        }
        doc.check_prose()?;
        Ok(doc)
    }

    fn add_tag(&mut self, tag: &str) -> Result<(), String> {
        let (name, value) = tag.split_once(' ').unwrap_or((tag, ""));
        let names = value.split(',').map(|name| name.trim().to_owned());
        match name {
            "nullable" => self.nullable.extend(names),
            "in" => self.inputs.extend(names),
            "inout" => self.inouts.extend(names),
            "since" => self.since = Some(value.to_owned()),
            _ => return Err(format!("unknown tag @{name}")),
        }
        Ok(())
    }

    fn check_prose(&self) -> Result<(), String> {
        if self.lines.iter().all(String::is_empty) {
            return Err("has no doc comment".to_owned());
        }
        let prose = self.lines.join("\n");
        for (bad, why) in [
            ("*/", "would end the C comment"),
            ("/*", "would start a C comment"),
            ("[`", "is a link that only rustdoc understands"),
        ] {
            if prose.contains(bad) {
                return Err(format!("the doc comment has {bad}, which {why}"));
            }
        }
        Ok(())
    }

    /// The prose as plain text: one line a paragraph or list item, an empty line in between.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            if line.is_empty() {
                text.push_str("\n\n");
            } else {
                let joins = !text.is_empty() && !text.ends_with('\n');
                if joins {
                    text.push(if line.starts_with("- ") { '\n' } else { ' ' });
                }
                text.push_str(line.trim_start());
            }
        }
        text
    }

    /// The first paragraph as one line.
    pub fn summary(text: &str) -> &str {
        text.split("\n\n").next().unwrap_or(text)
    }

    /// The comment for the header: the prose, then the tags that C readers need, in words.
    pub fn for_header(&self) -> Documentation {
        let mut lines = self.lines.clone();
        let mut notes = Vec::new();
        let arguments: Vec<&str> = self
            .nullable
            .iter()
            .map(String::as_str)
            .filter(|name| !name.is_empty())
            .collect();
        if !arguments.is_empty() {
            notes.push(format!("May be NULL: {}.", arguments.join(", ")));
        }
        if let Some(since) = &self.since {
            notes.push(format!("Since ABI {since}."));
        }
        if !notes.is_empty() {
            lines.push(String::new());
            lines.push(notes.join(" "));
        }
        let indent = |line: &String| {
            if line.is_empty() {
                String::new()
            } else {
                format!(" {line}")
            }
        };
        Documentation {
            doc_comment: lines.iter().map(indent).collect(),
        }
    }
}
