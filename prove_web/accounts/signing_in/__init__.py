"""Sign-in by password, second factor or an identity provider, implemented by django-allauth and configured here."""
