"""Check that Markdown becomes text and entities without losing anything (telegram.md 2)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.markdown import render_markdown


def shown(markdown: str) -> str:
    """Give the text alone."""
    return render_markdown(markdown)[0]


def marks(markdown: str) -> list[tuple[str, str]]:
    """Give each entity's type and the text it covers."""
    text, spans = render_markdown(markdown)
    return [(span.type, text[span.start : span.end]) for span in spans]


@pytest.mark.parametrize(
    "text",
    ["Vec<String> and Map<K, V>", "$x$ and $$y$$", '<b class="*a*">', "a <!-- b --> c", "<div>", "</details>",
     "<br/>", "a & b < c > d", "snake_case_name", "2 * 3 * 4", "#hash", "1.5",
     "~/x ~y~", "[x] y", "| a | b |",
     "__init__.py", "__main__()", "[label]", "![", "C:\\Users", "a\\", "^1", "==x==", "C++", "http://a.bc/x_y_z"],
)  # fmt: skip
def test_what_is_no_markdown_stays_literal(text: str) -> None:
    """Unknown HTML, formulas, names and half-open marks."""
    assert shown(text) == text
    assert marks(text) == []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("**a** *b* ~~c~~", [("bold", "a"), ("italic", "b"), ("strikethrough", "c")]),
        ("__a__ _b_", [("bold", "a"), ("italic", "b")]),
        ("`a*b*`", [("code", "a*b*")]),
        ("# T\n\nx", [("bold", "T")]),
        ("T\n===", [("bold", "T")]),
        ("# T **x** `c` y", [("bold", "T x"), ("code", "c"), ("bold", "y")]),
        ("**a _b_**", [("bold", "a b"), ("italic", "b")]),
        ("**a **b** c**", [("bold", "a b c")]),
        ("**[l](http://a.bc)**", [("text_link", "l"), ("bold", "l")]),
        ("[`c` x](http://a.bc)", [("text_link", "c x")]),
        ("```py\nx\n```", [("pre", "x")]),
        ("    x\n", [("pre", "x")]),
        ("> q", [("blockquote", "q")]),
        ("> ```\n>   x\n> ```", [("blockquote", "  x"), ("pre", "  x")]),
        ("> " + "q" * 600, [("expandable_blockquote", "q" * 600)]),
        ("> q\n" * 9, [("expandable_blockquote", "q\n" * 8 + "q")]),
    ],
)
def test_markup_becomes_entities_nested_as_telegram_allows(
    markdown: str, expected: list[tuple[str, str]]
) -> None:
    """Code never overlaps anything but a quote, and nothing is marked twice."""
    assert sorted(marks(markdown)) == sorted(expected)


def test_a_code_block_keeps_its_language_and_the_rest_of_its_first_line() -> None:
    """The language goes into the entity, what is no language above the block; tabs become four spaces."""
    text, [span] = render_markdown("```py title=x.py\n\ta\n\n  b\n```\nend")

    assert text == "title=x.py\n    a\n\n  b\nend"
    assert (span.type, span.language) == ("pre", "py")
    assert shown("```{r, echo}\n1\n```") == "{r, echo}\n1"
    assert shown("```empty\n```") == "empty"


@pytest.mark.parametrize(
    ("markdown", "text"),
    [
        ("- a\n- b", "• a\n• b"),
        ("- a\n  - b\n    1. c\n    2. d\n- e", "• a\n  • b\n    1. c\n    2. d\n• e"),
        ("1. a\n1. b\n1. c", "1. a\n2. b\n3. c"),
        ("3) a\n7) b", "3) a\n7) b"),
        ("- [ ] a\n- [x] b\n- [X] c", "☐ a\n☑ b\n☑ c"),
        ("1. [ ] a", "1. ☐ a"),
        ("- [x](http://a.bc)\n- [ ]", "• x\n• [ ]"),
        ("- a\n\n  b\n- c", "• a\n\n  b\n• c"),
        ("- a\n  b", "• a\n  b"),
        ("-\n- b", "•\n• b"),
        ("- ```\n  x\n  ```\n- > q", "• \nx\n• \nq"),
        ("- - x", "• • x"),
        ("> a\n> > b\n> - c\n\nd", "a\n> b\n• c\n\nd"),
        ("a\n- b\n\nc", "a\n• b\n\nc"),
        ("a  \nb\\\nc\nd", "a\nb\nc\nd"),
        ("a\n\n\n\nb", "a\n\nb"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("a\r\nb\rc\u2028d", "a\nb\nc\nd"),
        ("null\x00 esc\x1b[1m \ud800", "null\ufffd esc\ufffd[1m \ufffd"),
        ("&lt;b&gt; \\*x\\*", "<b> *x*"),
    ],
)
def test_blocks_keep_numbers_indentation_and_blank_lines(markdown: str, text: str) -> None:
    """As the agent wrote them."""
    assert shown(markdown).replace(" \n", "\n") == text.replace(" \n", "\n")


@pytest.mark.parametrize(
    ("markdown", "url"),
    [
        ("[l](https://a.bc/x?y=1#z)", "https://a.bc/x?y=1#z"),
        ("[l](http://127.0.0.1:8080/x)", "http://127.0.0.1:8080/x"),
        ("[l](<http://a.bc/x y>)", "http://a.bc/x%20y"),
        ("[l](tg://resolve?domain=x)", "tg://resolve?domain=x"),
        ("[l](mailto:a@b.cd)", "mailto:a@b.cd"),
        ("[l][1]\n\n[1]: http://a.bc/", "http://a.bc/"),
        ("[l]\n\n[l]: http://a.bc/", "http://a.bc/"),
        ("[l](http://été.fr/é)", "http://été.fr/é"),
    ],
)
def test_a_link_telegram_takes_becomes_a_text_link(markdown: str, url: str) -> None:
    """http, https, tg and mailto, with the target as written."""
    text, [span] = render_markdown(markdown)

    assert (text, span.type, span.url) == ("l", "text_link", url)


@pytest.mark.parametrize(
    "target",
    ["src/main.py", "./a.md#L3", "/etc/hosts", "http://localhost:3000/x", "http://host/", "https://x",
     "file:///a/b", "javascript:alert(1)", "a.bc/x", "ftp://a.bc/", "http://a.bc:99999/", "http://a..bc/",
     "http://[::1]/", "mailto:a@localhost", "tg:", "#anchor", "http://a.bc" + "x" * 3000],
)  # fmt: skip
def test_a_link_telegram_refuses_is_shown_as_label_and_target(target: str) -> None:
    """The target is code; nothing of it is lost."""
    assert shown(f"see [the **label**]({target})!") == f"see the label ({target})!"
    assert ("code", target) in marks(f"[the **label**]({target})")
    assert marks(f"[{target}]({target})") == [("code", target)]


def test_titles_images_and_definitions_are_not_lost() -> None:
    """What CommonMark hides in attributes is shown."""
    assert shown('[l](http://a.bc "why")') == "l (why)"
    assert shown("![alt](http://a.bc/p.png)") == "🖼 alt"
    assert shown("![alt](p.png)") == "🖼 alt (p.png)"
    assert shown("![](p.png) [](x)") == "🖼 p.png x"
    assert [kind for kind, _ in marks("[![alt](http://i.jk)](http://a.bc)")] == ["text_link", "text_link"]
    assert shown("[used]\n\n[used]: http://a.bc\n[not]: x\n[used]: y") == "used\n\n[not]: x\n[used]: y"


def test_a_table_becomes_a_grid_aligned_by_width() -> None:
    """Wide characters count two, alignment is kept, links show their target, extra cells stay."""
    table = "| a | 日本 | n |\n|---|:-:|--:|\n| **b** | c | 10 | more |\n| [l](http://a.bc) | `x\\|y` |"
    text, [span] = render_markdown(f"T\n\n{table}\n\nend")

    assert text.split("\n")[2:-2] == [
        "a               │ 日本 │  n",
        "────────────────┼──────┼────┼─────",
        "b               │  c   │ 10 │ more",
        "l (http://a.bc) │ x|y",
    ]
    assert span.type == "pre"


def test_what_is_nested_too_deeply_stays_as_text() -> None:
    """Hundreds of levels neither raise nor swallow what is inside."""
    assert shown(">" * 5000 + " deep").endswith("deep")
    assert shown("- " * 5000 + "deep").endswith("deep")
    assert shown("**a" * 5000).count("a") == 5000


def test_what_is_beyond_full_parsing_keeps_its_text_and_code() -> None:
    """A very long text is plain from some blank line on."""
    markdown = "word **bold**\n\n" * 20_000 + "```py\nlast = 1\n```\n\nend"
    text, spans = render_markdown(markdown)

    assert text.count("bold") == 20_000
    assert 1000 < sum(span.type == "bold" for span in spans) < 20_000
    assert text.endswith("last = 1\n\nend")
    assert ("pre", "py") in {(span.type, span.language) for span in spans}


FRAGMENTS = st.sampled_from(
    [
        "# ", "- ", "1. ", "> ", "    ", "\t", "\n", "\n\n", "**", "*", "__", "_", "~~",
        "`", "``", "```", "~~~", "[",
        "](", "](http://a.bc/", ")", "![", "<", ">", "<!--", "-->", "|", "|-|-|", "---",
        "===", "\\", "&", "[ ] ",
        "] ", ": http://x.y/", '"', "$", "é", "日本", "😀", "e\u0301", "\u200b", "\x00",
        "\ud800", " ",
    ]
)  # fmt: skip
WORDS = st.integers(0, 99).map(lambda number: f"w{number}q")


@given(st.lists(FRAGMENTS | WORDS, max_size=40))
def test_no_word_is_ever_lost(pieces: list[str]) -> None:
    """Whatever the markup around it, a word is in the text or in an entity's link or language."""
    text, spans = render_markdown("".join(pieces))

    everything = " ".join([text, *(f"{span.url} {span.language}" for span in spans)])
    assert [piece for piece in pieces if piece.startswith("w") and piece not in everything] == []
