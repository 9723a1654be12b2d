// Runs cases one after the other; prints one JSON line per case.
export async function runCases(cases) {
  for (const [name, run] of Object.entries(cases)) {
    const error = await run().then(
      () => undefined,
      (reason) => reason?.stack ?? String(reason),
    );
    console.log(JSON.stringify({ name, error }));
  }
}
