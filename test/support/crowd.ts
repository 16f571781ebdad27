import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import type { Context } from '../../src/commands/context.ts'
import { closeSession } from '../../src/commands/sessions/close.ts'
import { parseAddress } from '../../src/core/access/address.ts'
import type { ActiveSession, Session } from '../../src/media/sessionRegistry.ts'

const address = parseAddress('192.0.2.1')
const UNKNOWN = { sourceId: null, tokenId: null, jti: null, trackingId: null, origin: null, country: null }

/**
 * Viewers of an open stream, in the store and in memory as `admitViewer` leaves them, but without a transaction for
 * each.
 */
export async function crowd(ctx: Context, accountId: string, streamName: string, count: number): Promise<Session[]> {
  const entries = Array.from({ length: count }, () => entryOf(ctx, accountId, streamName))
  await ctx.store.transaction(async (tx) => {
    for (const { session } of entries) await tx.sessions.insert(session, ctx.sessions.node)
    if (entries[0]) await tx.viewing.begin(entries[0].session)
  })
  for (const entry of entries) ctx.sessions.add(entry)
  return entries.map(({ session }) => session)
}

function entryOf(ctx: Context, accountId: string, streamName: string): ActiveSession {
  if (!address) throw new Error('no address')
  const [action, protocol] = ['view', 'whep'] as const
  const session: Session = {
    ...UNKNOWN,
    id: randomBytes(11).toString('hex'),
    action,
    protocol,
    accountId,
    streamName,
    address: address.text,
    startedAtMs: ctx.clock.now(),
  }
  return {
    session,
    cut: (one, reason) => closeSession(ctx, one.id, reason),
    request: {
      action,
      protocol,
      accountId,
      streamName,
      credential: { kind: 'none' },
      address,
      origin: null,
      country: null,
      streamIsSecured: false,
    },
    tokenHash: null,
    tokenVersion: null,
    slot: { connected: () => undefined, release: () => undefined },
    mediaAtMs: null,
    media: null,
    bytes: { bytesIn: 0, bytesOut: 0 },
    written: { bytesIn: 0, bytesOut: 0 },
    ending: null,
  }
}

/** A connection of the test itself. */
export async function connected<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/**
 * Makes the whole server commit one end of a session in `ms` milliseconds, for any number of connections: as slow as a
 * busy server, and the same on every machine. Every tenth commit waits for ten, because a server cannot sleep for less
 * than some milliseconds.
 */
export const slowDown = (url: string, ms: number): Promise<unknown> =>
  connected(url, (client) =>
    client.query(`
      create sequence slow_ends;
      create function slow() returns trigger language plpgsql as $$ begin
        if nextval('slow_ends') % 10 = 0 then
          perform pg_advisory_lock(4242);
          perform pg_sleep(${(10 * ms) / 1000});
          perform pg_advisory_unlock(4242);
        end if;
        return new;
      end $$;
      create trigger slow before update on sessions for each row
        when (old.ended_at_ms is null and new.ended_at_ms is not null) execute function slow();
    `),
  )

/** Records how long each lease went without renewal, by the database's clock. */
export const watchLeases = (url: string): Promise<unknown> =>
  connected(url, (client) =>
    client.query(`
      create table lease_gaps (node text, gap_ms bigint);
      create function note_gap() returns trigger language plpgsql as $$ begin
        insert into lease_gaps values (old.id, extract(epoch from clock_timestamp()) * 1000 - old.seen_at_ms);
        return null;
      end $$;
      create trigger note_gap after update or delete on serving_nodes for each row execute function note_gap();
    `),
  )

/** The longest time without renewal of any lease. */
export const longestGapMs = (url: string): Promise<number> =>
  connected(url, async (client) => {
    const { rows } = await client.query<{ gap: string }>(`
      select greatest((select max(gap_ms) from lease_gaps),
        (select max(extract(epoch from clock_timestamp()) * 1000 - seen_at_ms)::bigint from serving_nodes)) as gap`)
    return Number(rows[0]?.gap)
  })
