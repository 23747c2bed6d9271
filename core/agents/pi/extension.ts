// Tells a hosted Pi what its person has approved (auto-improve's block), fresh at every prompt.
//
// The block is read from the file AUTO_IMPROVE_CONTEXT_FILE names. Nothing here may slow Pi down or break it:
// no process is started, and whatever is missing or wrong means "no block", never an error. The text goes in
// as it is, without times or counters, so that the provider's prompt cache holds until a lesson changes.
import { readFileSync, realpathSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

const SECTION = "auto_improve";
const MAX_BYTES = 1 << 20;

function isElsewhereHosted(): boolean {
  const hosted = process.env.AUTO_IMPROVE_HOSTED;
  if (!hosted) return false;
  try {
    return realpathSync(hosted) !== realpathSync(fileURLToPath(import.meta.url));
  } catch {
    return true;
  }
}

function readBlock(): string {
  const file = process.env.AUTO_IMPROVE_CONTEXT_FILE;
  if (!file) return "";
  try {
    if (statSync(file).size > MAX_BYTES) return "";
    const text = readFileSync(file, "utf8").replace(/\n+$/, "");
    return text.trim() === "" ? "" : text;
  } catch {
    return "";
  }
}

export default function (pi: any): void {
  if (isElsewhereHosted()) return;
  pi.on("before_agent_start", (event: any) => {
    const block = readBlock();
    const sections = event?.systemPromptOptions?.sections;
    if (sections !== null && typeof sections === "object") {
      // Pi 1.x wraps each section in its name and tells the model only what has changed.
      if (block) sections[SECTION] = block;
      else delete sections[SECTION];
      return undefined;
    }
    if (!block || typeof event?.systemPrompt !== "string") return undefined;
    return { systemPrompt: `${event.systemPrompt}\n\n<${SECTION}>\n${block}\n</${SECTION}>` };
  });
}
