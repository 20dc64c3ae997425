// Unpacks the program and runs it. The page's policy allows this script and that program, by their hashes, and no other.
const unpacked = (id) => {
  const letters = atob(document.getElementById(id).textContent);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
};
(async () => {
  const script = document.createElement("script");
  const text = await unpacked("program").text();
  const policy = globalThis.trustedTypes?.createPolicy("gradscope", { createScript: (program) => program });
  script.text = policy ? policy.createScript(text) : text;
  document.body.append(script);
})();
