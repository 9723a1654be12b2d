// Runs cases one after the other and prints one line of JSON for each.
export async function runCases(cases) {
  for (const [name, run] of Object.entries(cases)) {
    const error = await run().then(
      () => undefined,
      (reason) => reason?.stack ?? String(reason),
    );
    console.log(JSON.stringify({ name, error }));
  }
}
