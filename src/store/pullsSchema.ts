import type { PullTime } from '../core/pulls/types.ts'
import type { TargetStatus } from '../core/restream/state.ts'
import { BYTES, FLAG, NUMBER, NUMBER_OR_NULL, SERIAL, TEXT, TEXT_OR_NULL } from './columns.ts'

/** The table of pulls, as both SQL dialects see it. */
export const PULL_TABLES = {
  /** Sources that Sluice dials, in the name of a token. `url_sealed` is the whole URL, `shown_url` has no secrets. */
  pulls: {
    id: SERIAL,
    account_id: TEXT,
    token_id: NUMBER,
    stream_name: TEXT,
    label: TEXT,
    url_sealed: BYTES,
    shown_url: TEXT,
    enabled: FLAG,
    run_when: TEXT as PullTime,
    version: NUMBER,
    added_at_ms: NUMBER,
    /** When a viewer last wanted it, of those on demand. */
    demand_at_ms: NUMBER,
    /** The serving node that runs it. */
    node: TEXT_OR_NULL,
    status: TEXT as TargetStatus,
    since_ms: NUMBER,
    retry_at_ms: NUMBER_OR_NULL,
    problem: TEXT_OR_NULL,
    last_problem: TEXT_OR_NULL,
    last_problem_at_ms: NUMBER_OR_NULL,
  },
}
