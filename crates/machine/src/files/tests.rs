//! Directories that other users control, own, or have planted links in.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::files::acl::tests::list;
use crate::files::{Dir, Error, Refusal, Subject, replace_at};

/// Owns nothing.
const STRANGER: u32 = 64_321;

fn temporary() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn is_root(dir: &tempfile::TempDir) -> bool {
    // As in a user namespace, root may be unable to give files away.
    testbed::require(&["root"]) && fs::metadata(dir.path()).expect("it is there").uid() == 0
}

fn directory(path: PathBuf, mode: u32, owner: u32) -> PathBuf {
    fs::create_dir(&path).expect("a new directory");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    if owner != 0 {
        chown(&path, Some(owner), Some(owner)).expect("root may give away");
    }
    path
}

fn mode(path: impl AsRef<Path>) -> u32 {
    fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
}

fn refusal(error: Error) -> Refusal {
    match error {
        Error::Refused { why, .. } => why,
        other => panic!("{other}"),
    }
}

#[test]
fn a_directory_that_others_can_write_is_refused_for_itself_and_as_a_parent() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let shared = directory(dir.path().join("shared"), 0o777, 0);
    let below = directory(shared.join("below"), 0o755, 0);
    let group = directory(dir.path().join("group"), 0o775, 0);
    chown(&group, None, Some(STRANGER)).expect("root may give away");
    for path in [&shared, &below, &group] {
        let error = Dir::open(path).expect_err("others can write there");
        assert!(error.to_string().contains("chmod go-w"), "{error}");
        assert!(matches!(refusal(error), Refusal::Shared { owner: 0, .. }));
    }
    assert!(matches!(
        refusal(Dir::create_new(shared.join("new")).expect_err("shared")),
        Refusal::Shared { .. }
    ));
    assert!(matches!(
        refusal(Dir::private(shared.join("new")).expect_err("shared")),
        Refusal::Shared { .. }
    ));
    assert!(!shared.join("new").exists());
}

/// Tags, permissions and ids; false if the file system has no lists.
fn set_list(path: &Path, which: &str, entries: &[(u16, u16, u32)]) -> bool {
    let name = format!("system.posix_acl_{which}");
    let set = rustix::fs::setxattr(path, name, &list(entries), rustix::fs::XattrFlags::empty());
    if set == Err(rustix::io::Errno::OPNOTSUPP) {
        testbed::skip(&format!("{} takes no access control list", path.display()));
        return false;
    }
    set.unwrap_or_else(|error| panic!("{}: {which} {entries:?}: {error}", path.display()));
    true
}

/// Owner and others as in mode 0755, the owning group's permissions, more entries, and the mask.
fn with(group: u16, more: &[(u16, u16, u32)], mask: u16) -> Vec<(u16, u16, u32)> {
    let unnamed = u32::MAX;
    let mut all =
        [more, &[(1, 7, unnamed), (4, group, unnamed), (16, mask, unnamed), (32, 5, unnamed)]]
            .concat();
    // The kernel requires the order of tags.
    all.sort_unstable();
    all
}

const USER: u16 = 2;
const GROUP: u16 = 8;

#[test]
fn a_list_that_lets_others_write_is_refused() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let open = directory(dir.path().join("open"), 0o755, 0);
    let below = directory(open.join("below"), 0o755, 0);
    let cases = [
        (with(5, &[(USER, 7, STRANGER)], 7), Subject::User(STRANGER), "setfacl -m u:64321:rx"),
        (with(5, &[(GROUP, 2, STRANGER)], 7), Subject::Group(STRANGER), "setfacl -m g:64321:rx"),
        // The mask does not show the file's own group.
        (with(7, &[(USER, 5, STRANGER)], 7), Subject::OwningGroup(STRANGER), "setfacl -m g::rx"),
    ];
    for (entries, writer, remedy) in cases {
        let group = if matches!(writer, Subject::OwningGroup(_)) { STRANGER } else { 0 };
        chown(&open, None, Some(group)).expect("root may give away");
        for (which, inherited) in [("access", false), ("default", true)] {
            if !set_list(&open, which, &entries) {
                return;
            }
            let new = open.join("new");
            for refused in
                [Dir::open(&open), Dir::make(&new), Dir::create_new(&new), Dir::private(&new)]
            {
                let error = refused.expect_err("others can write");
                assert!(
                    error
                        .to_string()
                        .contains(&remedy.replace("-m ", if inherited { "-m d:" } else { "-m " }))
                );
                assert_eq!(refusal(error), Refusal::Listed { writer, inherited });
            }
            assert!(!new.exists(), "nothing is made first");
            // Files created elsewhere get another directory's list.
            assert_eq!(Dir::open(&below).is_err(), !inherited, "{entries:?}");
            let none: &[(u16, u16, u32)] = &[];
            assert!(set_list(
                &open,
                which,
                if inherited { none } else { &[(1, 7, 0), (4, 5, 0), (32, 5, 0)] }
            ));
        }
    }
}

#[test]
fn a_list_that_lets_no_other_user_write_is_accepted() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let shared = directory(dir.path().join("shared"), 0o755, 0);
    chown(&shared, None, Some(STRANGER)).expect("root may give away");
    // Read-only, behind a mask, and root: in the last, the group bits are 7.
    let cases = [
        with(5, &[(USER, 5, STRANGER)], 5),
        with(7, &[(USER, 7, STRANGER), (GROUP, 7, STRANGER)], 5),
        with(5, &[(USER, 7, 0), (GROUP, 7, 0)], 7),
    ];
    for entries in cases {
        if !set_list(&shared, "access", &entries) || !set_list(&shared, "default", &entries) {
            return;
        }
        Dir::open(&shared).unwrap_or_else(|error| panic!("{entries:?}: {error}"));
    }
    assert_eq!(mode(&shared), 0o775, "the mask");
}

#[test]
fn a_file_with_a_list_that_lets_others_write_is_not_read() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let out = Dir::make(dir.path().join("out")).expect("a new directory");
    out.replace("results.jsonl", b"x").expect("writable");
    if !set_list(&out.file("results.jsonl"), "access", &with(4, &[(USER, 6, STRANGER)], 6)) {
        return;
    }
    assert_eq!(mode(out.file("results.jsonl")), 0o765);
    let listed = Refusal::Listed { writer: Subject::User(STRANGER), inherited: false };
    assert_eq!(refusal(out.read("results.jsonl").expect_err("listed")), listed);
    assert_eq!(refusal(out.append("results.jsonl").expect_err("listed")), listed);
}

#[test]
fn a_directory_of_another_user_is_refused_for_itself_and_as_a_parent() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let theirs = directory(dir.path().join("theirs"), 0o755, STRANGER);
    let ours = directory(theirs.join("ours"), 0o755, 0);
    for path in [&theirs, &ours] {
        let error = Dir::make(path).expect_err("it is not ours");
        assert!(error.to_string().contains("found owner 64321"), "{error}");
        assert!(matches!(refusal(error), Refusal::Owner { owner: STRANGER, .. }));
    }
    assert!(matches!(refusal(Dir::private(&theirs).expect_err("theirs")), Refusal::Owner { .. }));
}

#[test]
fn a_sticky_directory_is_passed_and_what_others_have_made_in_it_is_not_used() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let sticky = directory(dir.path().join("sticky"), 0o1777, 0);
    Dir::create_new(sticky.join("new")).expect("a new directory in it is ours alone");
    assert!(Dir::create_new(sticky.join("new")).expect_err("it is no longer new").already_exists());
    Dir::private(sticky.join("state")).expect("a new directory in it is ours alone");
    directory(sticky.join("planted"), 0o755, STRANGER);
    assert!(matches!(
        refusal(Dir::make(sticky.join("planted")).expect_err("planted")),
        Refusal::Owner { .. }
    ));
    assert!(matches!(
        refusal(Dir::open(&sticky).expect_err("files are read back there")),
        Refusal::Shared { .. }
    ));
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").expect("writable");
    symlink(&victim, sticky.join("page.html")).expect("a link");
    replace_at(sticky.join("page.html"), b"page").expect("the link is replaced, not followed");
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
    assert_eq!(fs::read_to_string(sticky.join("page.html")).expect("it is there"), "page");
}

#[test]
fn links_of_another_user_are_not_followed_and_those_of_root_are() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let real = directory(dir.path().join("real"), 0o755, 0);
    symlink("real", dir.path().join("ours")).expect("a link");
    symlink(&real, dir.path().join("theirs")).expect("a link");
    std::os::unix::fs::lchown(dir.path().join("theirs"), Some(STRANGER), Some(STRANGER))
        .expect("root may give away");
    let through = Dir::make(dir.path().join("ours/../ours/below"))
        .expect("an administrator's links are followed");
    through.replace("x", b"1").expect("writable");
    assert_eq!(fs::read_to_string(real.join("below/x")).expect("it is there"), "1");
    let error = Dir::open(dir.path().join("theirs")).expect_err("another user's link");
    assert_eq!(refusal(error), Refusal::Link { owner: STRANGER });
    symlink("loop", dir.path().join("loop")).expect("a link");
    assert!(matches!(Dir::open(dir.path().join("loop")), Err(Error::Io { .. })));
}

#[test]
fn no_link_is_followed_in_a_directory_whosever_it_is() {
    let dir = temporary();
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").expect("writable");
    let out = Dir::make(dir.path().join("out")).expect("a new directory");
    for name in ["results.jsonl", "plan.toml", "trace.csv"] {
        symlink(&victim, out.file(name)).expect("a link");
    }
    let error = out.append("results.jsonl").expect_err("a link is in the way");
    assert!(error.to_string().contains("found a symbolic link"), "{error}");
    assert!(matches!(
        refusal(out.read("results.jsonl").expect_err("a link")),
        Refusal::NotAFile { .. }
    ));
    assert!(out.create("results.jsonl").expect_err("a link has the name").already_exists());
    out.replace("plan.toml", b"plan").expect("the link is replaced");
    let mut trace = out.replace_in_place("trace.csv").expect("the link is replaced");
    trace.write_all(b"trace").expect("writable");
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "precious");
    symlink(dir.path(), out.file("traces")).expect("a link");
    assert!(matches!(
        refusal(out.subdir("traces").expect_err("a link")),
        Refusal::NotADirectory { .. }
    ));
    rustix::fs::mkfifoat(&out, "pipe", rustix::fs::Mode::RWXU).expect("a pipe");
    assert!(matches!(
        refusal(out.append("pipe").expect_err("a pipe")),
        Refusal::NotAFile { found: "a pipe" }
    ));
}

#[test]
fn a_file_of_another_user_or_with_a_second_name_is_not_appended_to() {
    let dir = temporary();
    if !is_root(&dir) {
        return;
    }
    let out = Dir::make(dir.path().join("out")).expect("a new directory");
    fs::write(out.file("theirs"), "x").expect("writable");
    chown(out.file("theirs"), Some(STRANGER), Some(STRANGER)).expect("root may give away");
    fs::write(out.file("loose"), "x").expect("writable");
    fs::set_permissions(out.file("loose"), fs::Permissions::from_mode(0o666)).expect("ours");
    fs::write(dir.path().join("precious"), "x").expect("writable");
    fs::hard_link(dir.path().join("precious"), out.file("linked")).expect("a second name");
    assert!(matches!(refusal(out.append("theirs").expect_err("theirs")), Refusal::Owner { .. }));
    assert!(matches!(refusal(out.read("loose").expect_err("loose")), Refusal::Shared { .. }));
    assert_eq!(refusal(out.append("linked").expect_err("linked")), Refusal::Linked { names: 2 });
    assert_eq!(out.read("linked").expect("reading changes nothing").as_deref(), Some(&b"x"[..]));
}

#[test]
fn a_private_directory_and_its_files_are_for_one_user_and_an_open_one_is_closed() {
    let dir = temporary();
    assert!(
        Dir::private_if_exists(dir.path().join("state")).expect("absent is no error").is_none()
    );
    let old = dir.path().join("state");
    fs::create_dir(&old).expect("a new directory");
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).expect("ours");
    let state = Dir::private(&old).expect("ours, and closed now");
    let journal = state.subdir("journal").expect("a new directory");
    journal.append("k.lock").expect("a new file");
    journal.replace("k.json", b"{}").expect("a new file");
    fs::write(journal.file("old"), "x").expect("writable");
    fs::set_permissions(journal.file("old"), fs::Permissions::from_mode(0o644)).expect("ours");
    journal.append("old").expect("ours, and closed now");
    for (name, expected) in [
        ("state", 0o700),
        ("state/journal", 0o700),
        ("state/journal/k.lock", 0o600),
        ("state/journal/k.json", 0o600),
    ] {
        assert_eq!(mode(dir.path().join(name)), expected, "{name}");
    }
    assert_eq!(mode(journal.file("old")), 0o600);
    assert_eq!(journal.names().expect("readable"), ["k.json", "k.lock", "old"]);
    fs::set_permissions(&old, fs::Permissions::from_mode(0o777)).expect("ours");
    let error = Dir::private(&old).expect_err("others could have written there");
    assert!(matches!(refusal(error), Refusal::Shared { mode: 0o777, .. }));
}

#[test]
fn names_are_single_components() {
    let dir = temporary();
    let out = Dir::open(dir.path()).expect("ours");
    for name in ["", ".", "..", "a/b", "/etc/passwd", "a/", "../x", "a\0b"] {
        assert!(matches!(out.create(name), Err(Error::Name { .. })), "{name:?}");
        assert!(matches!(out.replace(name, b""), Err(Error::Name { .. })), "{name:?}");
    }
    assert!(out.names().expect("readable").is_empty());
}

#[test]
fn who_is_reading_the_former_file_keeps_it_whole() {
    let dir = temporary();
    let out = Dir::open(dir.path()).expect("ours");
    out.replace("report.md", b"former").expect("the first file is written");
    let mut reader = fs::File::open(out.file("report.md")).expect("the first file is there");
    out.replace("report.md", b"new").expect("the second file is written");
    let mut observed = String::new();
    reader.read_to_string(&mut observed).expect("the open file is readable");
    assert_eq!(
        (observed.as_str(), out.read("report.md").expect("readable")),
        ("former", Some(b"new".to_vec()))
    );
    assert_eq!(out.names().expect("readable"), ["report.md"]);
}

#[test]
fn a_full_disk_leaves_the_former_file_and_names_it() {
    let dir = temporary();
    if !testbed::require(&["root"]) {
        return;
    }
    let mounted = testbed::Tmpfs::mount(dir.path(), 1);
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).expect("ours");
    let former = replace_at(dir.path().join("report.html"), b"former");
    let answer = replace_at(dir.path().join("report.html"), &vec![b'x'; 2 << 20]);
    let found = fs::read_to_string(dir.path().join("report.html"));
    let left = fs::read_dir(dir.path()).map(Iterator::count);
    drop(mounted);
    former.expect("1 MiB is enough for six bytes");
    let error = answer.expect_err("2 MiB do not fit into 1 MiB").to_string();
    assert!(error.contains("report.html") && error.contains("No space left"), "{error}");
    assert_eq!(found.expect("the former file is there"), "former");
    assert_eq!(left.expect("the directory is readable"), 1, "no temporary file is left behind");
}
