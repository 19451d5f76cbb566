"""Mails of a Maildir that no digest has told of yet.

maildir.py serve DIR   an MCP server on standard input and output, which keeps in the workspace what was told
maildir.py left DIR    ends with 1 if mails are left; run in the workspace
"""
import email.policy, hashlib, json, os, re, sys, time

DAYS, MOST = 7, 50  # older mails are none that are new; so many at once
ws = "." if sys.argv[1] == "left" else "workspace"


def mails(folder):
    "Those that were not told of, the oldest first, by a short name."
    try:
        told = set(open(f"{ws}/told.txt").read().split())
    except FileNotFoundError:
        told = set()
    found = []
    for sub in ("cur", "new"):
        for e in os.scandir(os.path.join(folder, sub)):
            name = hashlib.sha256(e.name.split(":")[0].encode()).hexdigest()[:8]  # flags come behind a colon
            if e.is_file(follow_symlinks=False) and e.name[0] != "." and name not in told and e.stat().st_mtime > time.time() - DAYS * 86400:
                found.append((e.stat().st_mtime, name, e.path))
    return {name: path for _, name, path in sorted(found)[:MOST]}


def read(path):
    with open(path, "rb") as f:
        return email.message_from_binary_file(f, policy=email.policy.default)


def safe(what, *args):
    "What a mail says, or why that cannot be read: one strange mail must not hide the others."
    try:
        return what(*args)
    except Exception as err:
        return f"(cannot be read: {type(err).__name__}: {err})"


def head(path):
    m = read(path)
    return ", ".join(f"{k}: {safe(lambda: ''.join(c for c in str(m[k] or '') if c.isprintable())[:200])}" for k in ("From", "Subject", "Date"))


def text(path):
    m = read(path)
    part = m.get_body(("plain", "html"))
    body = part.get_content() if part else ""
    if part and part.get_content_subtype() == "html":
        body = re.sub(r"(?s)<(style|script).*?</\1>|<[^>]*>", " ", body)
    files = [a.get_filename() or a.get_content_type() for a in m.iter_attachments()]
    return (f"Attachments, which are not shown: {files}\n\n" if files else "") + body.strip()[:20000]


def call(tool, args, folder):
    left = mails(folder)
    if tool == "list_mails":
        return "\n".join(f"{name}  {safe(head, path)}" for name, path in left.items()) or "no new mails"
    if tool == "read_mail":
        if args["id"] not in left:
            raise ValueError("no such new mail; list_mails lists them")
        return safe(head, left[args["id"]]) + "\n\n" + safe(text, left[args["id"]])
    if tool == "write_digest":
        missing = [name for name in left if name not in args["text"]]
        if missing:
            raise ValueError(f"the digest does not have: {' '.join(missing)}; nothing was written")
        with open(f"{ws}/digest.tmp", "w") as f:
            f.write(args["text"].rstrip() + "\n")
        os.replace(f"{ws}/digest.tmp", f"{ws}/digest.md")
        with open(f"{ws}/told.txt", "a") as f:
            f.write("".join(name + "\n" for name in left))
        return f"digest.md is written, {len(left)} mails are told of"
    raise ValueError("no such tool")


def tool(name, description, **properties):
    return {"name": name, "description": description, "inputSchema": {"type": "object", "required": list(properties),
            "properties": {k: {"type": "string", "description": v} for k, v in properties.items()}}}


TOOLS = [tool("list_mails", "Lists the new mails: id, sender, subject, date."),
         tool("read_mail", "Gives the text of one mail.", id="as list_mails has it"),
         tool("write_digest", "Writes the digest, if it names the id of each new mail; they are not new from then on.", text="Markdown")]


def serve(folder):
    for line in sys.stdin:
        ask = json.loads(line)
        if "id" not in ask:
            continue
        params, answer = ask.get("params") or {}, {}
        if ask["method"] == "initialize":
            answer = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "maildir", "version": "1"}}
        elif ask["method"] == "tools/list":
            answer = {"tools": TOOLS}
        elif ask["method"] == "tools/call":
            try:
                said, bad = call(params["name"], params.get("arguments") or {}, folder), False
            except Exception as err:
                said, bad = f"{type(err).__name__}: {err}", True
            answer = {"content": [{"type": "text", "text": said}], "isError": bad}
        print(json.dumps({"jsonrpc": "2.0", "id": ask["id"], "result": answer}), flush=True)


if __name__ == "__main__":
    folder = os.path.expanduser(sys.argv[2])
    if sys.argv[1] == "serve":
        serve(folder)
    else:
        left = mails(folder)
        sys.exit(f"not in a digest yet: {' '.join(left)}" if left else 0)
