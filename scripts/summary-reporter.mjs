// A Jest reporter that writes the counts of a run, as JSON, to the file that test.mjs names.
import { writeFileSync } from 'node:fs';

export default class SummaryReporter {
  onRunComplete(_contexts, results) {
    const passed = results.numPassedTests;
    // A file that could not be run at all has no tests to count, but is no less of a failure.
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    writeFileSync(
      process.env.SUMMARY_FILE,
      JSON.stringify({ passed, failed, skipped: results.numPendingTests }),
    );
  }
}
