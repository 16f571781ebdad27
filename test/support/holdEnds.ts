import { connectTo } from './postgres.ts'

/** Lets no end of a session be committed until `release`, as on a server that is too busy for them. */
export async function holdEnds(url: string): Promise<{ release: () => Promise<void> }> {
  const client = await connectTo(url)
  await client.query(`
    create function held_up() returns trigger language plpgsql as $$ begin
      perform pg_advisory_xact_lock_shared(4242);
      return new;
    end $$;
    create trigger held_up before update on sessions for each row
      when (old.ended_at_ms is null and new.ended_at_ms is not null) execute function held_up();
    select pg_advisory_lock(4242);
  `)
  return { release: () => client.end() }
}
