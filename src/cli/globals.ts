import { textFlag, toggleFlag } from './flag.ts'

/** The flags of every command. `--help` is handled before a command runs. */
export const GLOBAL_FLAGS = {
  config: textFlag('FILE', 'The configuration file; by default SLUICE_CONFIG, or ./config.yaml if it exists.'),
  data: textFlag('DIR', 'The data directory; overrides `data.dir`.'),
  account: textFlag('ID', 'The account; required if there are several.'),
  json: toggleFlag('Print only one JSON value on standard output; errors become JSON on standard error.'),
  verbose: toggleFlag('Log more on standard error, and show the stack of an error.'),
  help: toggleFlag('Show help for Sluice, a group or a command.'),
} as const
