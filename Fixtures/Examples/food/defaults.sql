-- What the app makes of its own accord when it starts with an empty database, with the present time.
INSERT INTO app_settings VALUES('settings', 1, '09:00', NULL, strftime('%Y-%m-%dT%H:%M:%SZ', 'now'));
