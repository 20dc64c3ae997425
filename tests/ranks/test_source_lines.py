"""Which line of an edited program is which line of the program before."""

from gradscope.ranks.comparing.source_lines import SourceLines

PLAIN = "a = 1\nb = 2\nc = 3\n"


def lines(text, plain=PLAIN, other="/x/train.py"):
    return SourceLines({"/x/train.py": plain}, {other: text}, ("/x/train.py", other))


def test_a_line_below_an_inserted_one_is_the_same_line():
    assert lines("a = 1\nnew = 0\nb = 2\nc = 3\n").partner("/x/train.py", 3) == ("/x/train.py", 2, False)


def test_an_inserted_line_is_nobodys():
    assert lines("a = 1\nnothing_like_it()\nb = 2\nc = 3\n").partner("/x/train.py", 2)[2]


def test_an_edited_line_is_the_line_before():
    assert lines("a = 1\nb = 22\nc = 3\n").partner("/x/train.py", 2) == ("/x/train.py", 2, False)


def test_the_edited_line_is_told():
    (edit,) = lines("a = 1\nb = 22\nc = 3\n").edits
    assert (edit.site.line, edit.texts, edit.other_texts) == (2, ("b = 2",), ("b = 22",))


def test_a_line_that_was_taken_out_is_told_where_it_stood():
    (edit,) = lines("a = 1\nc = 3\n").edits
    assert (edit.site.file, edit.site.line) == ("/x/train.py", 2)


def test_a_script_with_another_name_is_the_same_program():
    assert lines(f"{PLAIN}d = 4\n", other="/y/again.py").partner("/y/again.py", 1) == ("/x/train.py", 1, False)


def test_a_line_wrapped_in_a_condition_is_still_that_line():
    found = lines("a = 1\nif a:\n    b = 2\nc = 3\n")
    assert found.partner("/x/train.py", 3) == ("/x/train.py", 2, False)


def test_a_librarys_line_stays_its_own():
    assert lines(PLAIN).partner("/lib/torch.py", 5) == ("/lib/torch.py", 5, False)
