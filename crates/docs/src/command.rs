//! Command lines in pages: found, joined, and split into words as a shell would.

use shlex::Shlex;

/// What may stand before the program on a command line.
const WRAPPERS: &[&str] = &["sudo", "unshare", "time", "nice", "env", "exec"];
/// What ends a command on a line.
const OPERATORS: &[&str] = &["|", "||", "&&", "&", ";", ">", ">>", "<", "2>"];

/// A command as a page shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The line as written, for messages.
    pub line: String,
    /// The program and its arguments.
    pub words: Vec<String>,
}

/// The commands of `program` in the text of a code block. In a block with prompts (`$ `) only lines
/// with a prompt are commands.
pub(crate) fn in_block(block: &str, program: &str) -> Vec<Command> {
    let joined = join(block);
    let prompts = joined.lines().any(|line| line.starts_with("$ "));
    let line = |line: &'_ str| {
        let line = line.trim();
        let command = if prompts { line.strip_prefix("$ ")? } else { line };
        parse(command, program)
    };
    joined.lines().filter_map(line).collect()
}

/// A command of `program` in running text.
pub(crate) fn mention(code: &str, program: &str) -> Option<Command> {
    parse(code, program)
}

/// Continued lines as one.
fn join(block: &str) -> String {
    let mut parts = block.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |joined, part| format!("{} {}", joined.trim_end(), part.trim_start()))
}

fn parse(line: &str, program: &str) -> Option<Command> {
    // A remark may follow in a column of its own, and a synopsis is no command.
    let line = line.split("   ").next().unwrap_or_default();
    if line.contains("[OPTIONS]") || line.contains('<') && line.contains('>') {
        return None;
    }
    let words: Vec<String> =
        Shlex::new(line).take_while(|word| !OPERATORS.contains(&word.as_str())).collect();
    let is_program = |word: &String| word == program || word.ends_with(&format!("/{program}"));
    let start = if words.first()? == "cargo" {
        let runs = words.get(1)? == "run" && words.windows(2).any(|pair| pair == ["-p", program]);
        words.iter().position(|word| runs && word == "--")?
    } else {
        let start = words.iter().position(is_program)?;
        let may_precede = |word: &String| {
            WRAPPERS.contains(&word.as_str())
                || word.starts_with('-')
                || (word.contains('=') && !word.contains('/'))
        };
        words[..start].iter().all(may_precede).then_some(start)?
    };
    let mut words = words[start..].to_vec();
    if words.len() < 2 {
        return None;
    }
    program.clone_into(&mut words[0]);
    Some(Command { line: line.to_owned(), words })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(block: &str) -> Vec<String> {
        in_block(block, "lab").into_iter().map(|command| command.words.join(" ")).collect()
    }

    #[test]
    fn commands_are_found_behind_wrappers_and_paths_and_end_at_operators_and_comments() {
        let block = "sudo lab run a.toml  # a comment\nlab list    what there is\ntarget/release/lab list devices --json | python3 -c 'lab'\n\
                     A=1 lab x && lab y\ncargo run --release -p lab -- tune\nunshare --pid lab run b\n";
        assert_eq!(
            words(block),
            [
                "lab run a.toml",
                "lab list",
                "lab list devices --json",
                "lab x",
                "lab tune",
                "lab run b"
            ]
        );
    }

    #[test]
    fn continued_lines_are_one_command_and_output_is_none() {
        assert_eq!(words("lab compare \\\n    --device x\n"), ["lab compare --device x"]);
        assert_eq!(words("$ lab run x\nlab wrote three files\n"), ["lab run x"]);
        assert!(
            words("the lab run\n# lab run\nlab: refused\nlab run [OPTIONS] <PLAN>\n").is_empty()
        );
    }
}
