import { Card } from '../../parts/page.tsx'
import { canChange } from '../../session.ts'
import { words } from '../../words/words.ts'
import { Credentials } from './credentials.tsx'
import { Secrets } from './secrets.tsx'
import { SettingsFrame } from './tabs.tsx'
import { You } from './you.tsx'

/** Secrets and credentials of programs, and the account of the person. */
export function SecurityPage() {
  return (
    <SettingsFrame path="/settings/security">
      <div class="cols form-side in-order">
        <div class="stack in-order">
          {canChange() ? (
            <>
              <Secrets />
              <Credentials />
            </>
          ) : (
            <Card title={words.settings.secrets}>
              <p class="note">{words.settings.adminsOnly}</p>
            </Card>
          )}
        </div>
        <div class="stack in-order">
          <You />
        </div>
      </div>
    </SettingsFrame>
  )
}
