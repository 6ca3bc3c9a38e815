// The rows of the other errors: of a sync, of the database, of input data, and of the gate.
extension ErrorTable {
    /// `SyncError.Code`, for errors without a more specific cause.
    static let sync: [ErrorEntry] = [
        ErrorEntry(
            "sync.dataRefused", "data was refused: damaged, rolled back, or a row that cannot be synced", .afterAction,
            en: ("Data refused", "The data was refused. Nothing was changed.", "Read the details, and repair what they name."),
            it: ("Dati rifiutati", "I dati sono stati rifiutati. Non è cambiato nulla.", "Leggi i dettagli e ripara ciò che indicano.")),
        ErrorEntry(
            "sync.nothingThere", "what was asked for is not there", .afterAction,
            en: ("Not found", "What you asked for is not there.", "Check its name and its place."),
            it: ("Non trovato", "Ciò che hai chiesto non c’è.", "Controlla il nome e la posizione.")),
        ErrorEntry(
            "sync.cloudUnavailable", "the cloud is not there", .later,
            en: ("Not reachable", "The shared data cannot be reached at the moment.", "Check the network or the shared folder, then try again."),
            it: ("Non raggiungibile", "I dati condivisi non sono raggiungibili in questo momento.", "Controlla la rete o la cartella condivisa, poi riprova.")),
        ErrorEntry(
            "sync.inputOutput", "reading or writing failed", .later,
            en: ("Sync failed", "Something could not be read or written.", "Check the disk and the network, then try again."),
            it: ("Sincronizzazione non riuscita", "Non è stato possibile leggere o scrivere qualcosa.", "Controlla il disco e la rete, poi riprova.")),
        ErrorEntry(
            "sync.tryAgainLater", "something is in use or has not arrived yet", .later,
            en: ("Not yet", "The sync cannot be done at this moment.", "Try again in a moment."),
            it: ("Non ancora", "In questo momento non è possibile sincronizzare.", "Riprova tra poco.")),
        ErrorEntry(
            "sync.permissionDenied", "the system refused to read or write a file", .afterAction,
            en: ("No permission", "The system does not let the app use a file or a folder.", "Give the app the right to use it."),
            it: ("Permesso negato", "Il sistema non consente all’app di usare un file o una cartella.", "Dai all’app il permesso di usarlo.")),
        ErrorEntry(
            "sync.refused", "a guard or the configuration says no", .afterAction,
            en: ("Sync stopped", "A safety check or a setting stopped the sync. Nothing was changed.", "Read the details, then decide."),
            it: (
                "Sincronizzazione interrotta", "Un controllo di sicurezza o un’impostazione ha fermato la sincronizzazione. Non è cambiato nulla.",
                "Leggi i dettagli, poi decidi."
            )),
    ]

    /// The local database.
    static let database: [ErrorEntry] = [
        ErrorEntry(
            "database.notFound", "there is no such file", .afterAction,
            en: ("Database missing", "The app’s database is not there.", "Restore it from a backup, or set the app up again."),
            it: ("Database mancante", "Il database dell’app non c’è.", "Ripristinalo da un backup o configura di nuovo l’app.")),
        ErrorEntry(
            "database.damaged", "the file is not a SQLite database, or is damaged", .afterAction,
            en: ("Database damaged", "The app’s database is damaged.", "Restore it from a backup."),
            it: ("Database danneggiato", "Il database dell’app è danneggiato.", "Ripristinalo da un backup.")),
        ErrorEntry(
            "database.busy", "another program holds the database's lock", .later,
            en: ("Database in use", "Another program is using the database.", "Try again in a moment."),
            it: ("Database in uso", "Un altro programma sta usando il database.", "Riprova tra poco.")),
        ErrorEntry(
            "database.running", "another run works on the same database", .later,
            en: ("Already syncing", "Another sync of this database is running.", "Wait until it has finished."),
            it: ("Sincronizzazione in corso", "È già in corso un’altra sincronizzazione di questo database.", "Attendi che finisca.")),
        ErrorEntry(
            "database.permissionDenied", "the system refused to read or write the database", .afterAction,
            en: ("No permission", "The app may not read or write its database.", "Give the app the right to use the file and its folder."),
            it: ("Permesso negato", "L’app non può leggere o scrivere il proprio database.", "Dai all’app il permesso di usare il file e la sua cartella.")),
        ErrorEntry(
            "database.diskFull", "there is no room for the database", .afterAction,
            en: ("Disk full", "There is no room left on this device.", "Make room, then try again."),
            it: ("Disco pieno", "Su questo dispositivo non c’è più spazio.", "Libera spazio, poi riprova.")),
        ErrorEntry(
            "database.inputOutput", "the system failed a read or a write of the database", .later,
            en: ("Disk error", "The database could not be read or written.", "Check the disk, then try again."),
            it: ("Errore del disco", "Non è stato possibile leggere o scrivere il database.", "Controlla il disco, poi riprova.")),
        ErrorEntry(
            "database.notInitialized", "the database was not set up for syncing, or was set up already", .afterAction,
            en: ("Sync not set up", "Sync is not set up for this database, or it was set up already.", "Check the settings of sync."),
            it: (
                "Sincronizzazione non configurata", "La sincronizzazione di questo database non è configurata, o lo è già.",
                "Controlla le impostazioni di sincronizzazione."
            )),
        ErrorEntry(
            "database.schemaMismatch", "a table does not match its dataset's description", .afterAction,
            en: ("Tables do not match", "The tables of this database do not match the shared data.", "Update the app on all devices."),
            it: ("Tabelle diverse", "Le tabelle di questo database non corrispondono ai dati condivisi.", "Aggiorna l’app su tutti i dispositivi.")),
        ErrorEntry(
            "database.badRow", "a row cannot be synced or cannot be stored", .afterAction,
            en: ("Entry cannot be synced", "An entry of the database cannot be synced.", "Correct the entry that the details name."),
            it: ("Voce non sincronizzabile", "Non è possibile sincronizzare una voce del database.", "Correggi la voce indicata nei dettagli.")),
        ErrorEntry(
            "database.foreignKeyViolated", "the new rows break a foreign key that the database had kept", .afterAction,
            en: ("Entries do not fit", "New entries refer to entries that are not there.", "Read the details, and repair what they name."),
            it: ("Voci non compatibili", "Le nuove voci rimandano a voci che non ci sono.", "Leggi i dettagli e ripara ciò che indicano.")),
    ]

    /// Input data: files, descriptions, texts.
    static let data: [ErrorEntry] = [
        ErrorEntry(
            "data.tooLarge", "a key, an entity or a declared size is beyond its limit", .afterAction,
            en: ("Entry too large", "An entry is too large to be synced.", "Make the entry smaller that the details name."),
            it: ("Voce troppo grande", "Una voce è troppo grande per essere sincronizzata.", "Riduci la voce indicata nei dettagli.")),
        ErrorEntry(
            "data.notAContainer", "the file is not a container of a known dataset", .afterAction,
            en: ("Unknown file", "The file is not one that can be imported.", "Choose another file."),
            it: ("File sconosciuto", "Questo file non può essere importato.", "Scegli un altro file.")),
        ErrorEntry(
            "data.badDescription", "a dataset's description cannot be used", .afterAction,
            en: ("Description not valid", "The description of what is synced has a mistake.", "Correct the description."),
            it: ("Descrizione non valida", "La descrizione di ciò che si sincronizza contiene un errore.", "Correggi la descrizione.")),
        ErrorEntry(
            "data.badInstant", "a text is not a time", .never,
            en: ("Not a time", "This text is not a date with a time.", "Correct the text."),
            it: ("Ora non valida", "Questo testo non è una data con un’ora.", "Correggi il testo.")),
        ErrorEntry(
            "data.badJSON", "a text is not strict JSON", .never,
            en: ("Not readable", "This text is not valid JSON.", "Correct the text."),
            it: ("Non leggibile", "Questo testo non è JSON valido.", "Correggi il testo.")),
    ]

    /// `GateReason.Code`.
    static let gate: [ErrorEntry] = [
        ErrorEntry(
            "gate.preferenceUndecided", "the user has not said yet whether to sync", .afterAction,
            en: ("Not chosen yet", "You have not chosen yet whether to sync.", "Turn sync on or off in the settings."),
            it: ("Scelta da fare", "Non hai ancora scelto se sincronizzare.", "Attiva o disattiva la sincronizzazione nelle impostazioni.")),
        ErrorEntry(
            "gate.preferenceOff", "the user has turned sync off", .afterAction,
            en: ("Sync is off", "Sync is turned off for this device.", "Turn it on in the settings. Your changes are kept until then."),
            it: (
                "Sincronizzazione disattivata", "La sincronizzazione è disattivata su questo dispositivo.",
                "Attivala nelle impostazioni. Fino ad allora le tue modifiche restano salvate."
            )),
        ErrorEntry(
            "gate.preferenceUnknown", "the store that the preference is bound to cannot be read or written", .afterAction,
            en: ("Setting not readable", "The app cannot tell whether you want to sync.", "Turn sync off and on again in the settings."),
            it: ("Impostazione illeggibile", "L’app non riesce a capire se vuoi sincronizzare.", "Disattiva e riattiva la sincronizzazione nelle impostazioni.")
        ),
        ErrorEntry(
            "gate.notEntitled", "the user may not sync", .afterAction,
            en: ("Not included", "Your plan does not include sync.", "Get a plan that does. Your changes are kept until then."),
            it: (
                "Non incluso", "Il tuo piano non comprende la sincronizzazione.",
                "Scegli un piano che la comprenda. Fino ad allora le tue modifiche restano salvate."
            )),
        ErrorEntry(
            "gate.entitlementExpired", "the user was entitled until a time that has passed", .afterAction,
            en: ("Plan expired", "Your plan with sync has expired.", "Renew it. Your changes are kept until then."),
            it: ("Piano scaduto", "Il tuo piano con la sincronizzazione è scaduto.", "Rinnovalo. Fino ad allora le tue modifiche restano salvate.")),
        ErrorEntry(
            "gate.entitlementUnknown", "nobody can say whether the user is entitled, and no earlier answer holds any longer", .later,
            en: ("Plan not confirmed", "It could not be confirmed that your plan includes sync.", "Check the network and the date, then try again."),
            it: (
                "Piano non confermato", "Non è stato possibile confermare che il tuo piano comprenda la sincronizzazione.",
                "Controlla la rete e la data, poi riprova."
            )),
        ErrorEntry(
            "gate.noAccount", "nobody is signed in to the account that the cloud needs", .afterAction,
            en: ("Not signed in", "Nobody is signed in, so nothing can be synced.", "Sign in. Your changes are kept until then."),
            it: (
                "Accesso non effettuato", "Nessuno ha effettuato l’accesso, quindi non è possibile sincronizzare.",
                "Accedi. Fino ad allora le tue modifiche restano salvate."
            )),
        ErrorEntry(
            "gate.accountRestricted", "the account may not use the cloud", .afterAction,
            en: ("Account restricted", "This account may not use the shared data.", "Ask whoever manages the account."),
            it: ("Account limitato", "Questo account non può usare i dati condivisi.", "Chiedi a chi gestisce l’account.")),
        ErrorEntry(
            "gate.accountUnavailable", "there is an account, and it cannot be used just now, or nobody can tell", .later,
            en: ("Account not available", "Your account is not available at the moment.", "Try again later, or sign in again."),
            it: ("Account non disponibile", "Il tuo account non è disponibile in questo momento.", "Riprova più tardi o accedi di nuovo.")),
        ErrorEntry(
            "gate.localOnly", "the application uses the database without a cloud, on purpose", .never,
            en: ("Not synced", "The data stays on this device.", "Nothing has to be done."),
            it: ("Senza sincronizzazione", "I dati restano su questo dispositivo.", "Non occorre fare nulla.")),
        ErrorEntry(
            "gate.inMemory", "the database is a stand-in in memory", .afterAction,
            en: ("Nothing is kept", "The app’s database could not be opened. What you do now is kept only until you close the app.", "Repair the database."),
            it: (
                "Niente viene conservato", "Non è stato possibile aprire il database dell’app. Ciò che fai ora resta solo finché non chiudi l’app.",
                "Ripara il database."
            )),
    ]
}
