import type { ComponentChildren } from 'preact'
import { PASSWORD_LEAST } from '../session.ts'
import { words } from '../words/words.ts'
import { TextField } from './form.tsx'

interface EntryProps {
  /** Typing begins here. */
  readonly autofocus?: boolean
  readonly value: string
  readonly error?: string | undefined
  readonly onValue: (value: string) => void
}

/** The email address with which a user signs in. @param autocomplete `off` where it is not that of the reader */
export const EmailField = (props: EntryProps & { readonly autocomplete: 'username' | 'off' }) => (
  <TextField label={words.signIn.email} type="email" required missing={words.problems.email} {...props} />
)

/** A password that is being chosen. */
export const NewPasswordField = (props: EntryProps & { readonly label: ComponentChildren }) => (
  <TextField
    type="password"
    autocomplete="new-password"
    required
    minLength={PASSWORD_LEAST}
    missing={words.problems.password}
    hint={words.setup.passwordHint}
    {...props}
  />
)

interface NewAccountProps {
  readonly email: string
  readonly password: string
  /** What the server said of each. */
  readonly errors: Readonly<Record<string, string>>
  readonly autocomplete: 'username' | 'off'
  readonly onValue: (changes: { email: string } | { password: string }) => void
}

/** What a new user signs in with. */
export const NewAccountFields = ({ email, password, errors, autocomplete, onValue }: NewAccountProps) => (
  <>
    <EmailField
      autocomplete={autocomplete}
      error={errors['email']}
      value={email}
      onValue={(changed) => onValue({ email: changed })}
    />
    <NewPasswordField
      label={words.signIn.password}
      error={errors['password']}
      value={password}
      onValue={(changed) => onValue({ password: changed })}
    />
  </>
)

/** The password that a user has. */
export const PasswordField = (props: EntryProps & { readonly label: ComponentChildren }) => (
  <TextField type="password" autocomplete="current-password" required missing={words.problems.password} {...props} />
)
